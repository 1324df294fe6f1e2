-- What a dump may hold but foreign keys, views, CHECK, JSON and generated columns: made in MariaDB, dumped, and loaded into LatsDB.
SET NAMES utf8mb4;
SET time_zone = '+00:00', sql_mode = '';

CREATE TABLE numbers (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  tiny TINYINT DEFAULT NULL,
  tiny_u TINYINT(3) UNSIGNED NOT NULL DEFAULT 255,
  is_on TINYINT(1) NOT NULL DEFAULT 1,
  small SMALLINT DEFAULT -32768,
  medium MEDIUMINT UNSIGNED DEFAULT 16777215,
  wide BIGINT UNSIGNED DEFAULT 18446744073709551615,
  padded INT(8) UNSIGNED ZEROFILL NOT NULL DEFAULT 42,
  padded_small SMALLINT(5) UNSIGNED ZEROFILL DEFAULT NULL,
  price DECIMAL(10,2) NOT NULL DEFAULT 0.00,
  exact DECIMAL(65,30) DEFAULT NULL,
  whole DECIMAL(12,0) UNSIGNED DEFAULT 7,
  single FLOAT DEFAULT 1.5,
  single_m FLOAT(7,4) DEFAULT NULL,
  twice DOUBLE DEFAULT NULL,
  twice_m DOUBLE(10,2) NOT NULL DEFAULT 3.14,
  one_bit BIT(1) NOT NULL DEFAULT b'1',
  bits BIT(17) DEFAULT b'101',
  all_bits BIT(64) DEFAULT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY by_wide (wide, id),
  KEY by_price (price, small)
) ENGINE=InnoDB AUTO_INCREMENT=1000 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='numbers; of ''every'' kind';
INSERT INTO numbers (id) VALUES (1), (2);
INSERT INTO numbers VALUES
  (0, -128, 0, 0, 32767, 0, 0, 0, 7, -99999999.99, 12345678901234567890123456789012345.123456789012345678901234567890,
   999999999999, -3.4e38, 123.4567, 1.7976931348623157e308, -12345678.91, b'0', b'11111111111111111', 18446744073709551615),
  (5000, NULL, 9, 1, NULL, NULL, NULL, 99999999, NULL, 0.01, NULL, NULL, NULL, NULL, -2.5e-300, 0, b'1', NULL, 0);
UPDATE numbers SET id = 0 WHERE id = 1;

CREATE TABLE moments (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  day DATE NOT NULL DEFAULT '0000-00-00',
  day_null DATE DEFAULT NULL,
  month_only DATE DEFAULT '2024-02-00',
  at DATETIME NOT NULL DEFAULT '0000-00-00 00:00:00',
  at_ms DATETIME(3) DEFAULT '2024-02-29 23:59:59.999',
  at_us DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  created TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  changed TIMESTAMP NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP,
  both_of TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP COMMENT 'made and changed',
  stamp_zero TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00',
  stamp_us TIMESTAMP(6) NOT NULL DEFAULT '2001-02-03 04:05:06.789012',
  length TIME DEFAULT '-838:59:59',
  length_us TIME(6) DEFAULT NULL,
  in_year YEAR NOT NULL DEFAULT 1901,
  KEY by_day (day),
  KEY by_created (created, length)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
INSERT INTO moments (at_us, created, both_of) VALUES ('2024-01-01 00:00:00.000001', '2024-01-01', '2024-01-02 03:04:05');
INSERT INTO moments VALUES
  (2, '2024-00-00', '1000-01-01', '9999-12-31', '0000-00-00', NULL, NULL, '1970-01-01 00:00:01', '2038-01-19 03:14:07',
   '2000-01-01', '0000-00-00', '1999-12-31 23:59:59.999999', '838:59:59', '-00:00:00.000001', 2155),
  (3, '0000-00-00', '2024-02-29', '0000-00-00', '2024-06-00 12:00:00', '0000-00-00', '9999-12-31 23:59:59.999999', '2024-03-31 01:30:00',
   NULL, '2024-10-27 00:30:00', '2010-10-10 10:10:10', '0000-00-00', '00:00:00', '12:34:56.5', 0000);

CREATE TABLE texts (
  code CHAR(3) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
  fixed CHAR(10) NOT NULL DEFAULT 'x',
  name VARCHAR(100) DEFAULT NULL COMMENT 'it''s a \\ "name"',
  latin VARCHAR(50) CHARACTER SET latin1 COLLATE latin1_swedish_ci DEFAULT 'käse',
  old VARCHAR(50) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci DEFAULT NULL,
  old_bin VARCHAR(50) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin DEFAULT NULL,
  ascii_only VARCHAR(20) CHARACTER SET ascii COLLATE ascii_general_ci DEFAULT NULL,
  exact VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  modern VARCHAR(50) COLLATE utf8mb4_unicode_520_ci DEFAULT NULL,
  tiny TINYTEXT DEFAULT NULL,
  body TEXT DEFAULT NULL,
  medium MEDIUMTEXT COLLATE utf8mb4_general_ci DEFAULT NULL,
  huge LONGTEXT DEFAULT NULL,
  kind ENUM('a','b,c','it''s','ö') NOT NULL DEFAULT 'b,c',
  kinds SET('red','green','blue') DEFAULT 'red,blue',
  kind_latin ENUM('é','x') CHARACTER SET latin1 DEFAULT NULL,
  PRIMARY KEY (code),
  UNIQUE KEY by_exact (exact),
  KEY by_name (name(10)),
  KEY by_body (body(20), fixed) COMMENT 'a prefix',
  KEY by_old (old)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
INSERT INTO texts (code) VALUES ('a');
INSERT INTO texts VALUES
  ('A', 'pad  ', 'quote '' double " back \\ new\nline tab\t null \0 ctrl-z \Z %_', 'ÀÉÎõü ÿ', 'Ωmega', 'ß', 'plain', 'one',
   'straße', '', 'käse 🧀', REPEAT('é', 1000), REPEAT('long ', 20000), 'it''s', '', 'x'),
  ('é', '', '', '', '', '', '', 'two', 'STRASSE', 'tiny', '', NULL, '', 'ö', 'green', 'é'),
  ('e', 'nothing', NULL, NULL, NULL, NULL, NULL, 'TWO', NULL, NULL, NULL, NULL, NULL, 'a', NULL, NULL);

CREATE TABLE bytes (
  id BINARY(16) NOT NULL,
  token VARBINARY(64) DEFAULT NULL,
  tiny TINYBLOB DEFAULT NULL,
  image BLOB DEFAULT NULL,
  medium MEDIUMBLOB DEFAULT NULL,
  huge LONGBLOB DEFAULT NULL,
  short BINARY(3) NOT NULL DEFAULT 'ab',
  PRIMARY KEY (id),
  KEY by_token (token(8)),
  KEY by_image (image(12))
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
INSERT INTO bytes VALUES
  (x'000102030405060708090a0b0c0d0e0f', x'00ff27225c0a0d1a', '', x'', NULL, x'89504e470d0a1a0a', 'ab'),
  (x'ffffffffffffffffffffffffffffffff', NULL, x'c3a9', REPEAT(x'00', 70000 DIV 2), REPEAT(x'f0', 100000), NULL, '');

CREATE TABLE `Odd name``s` (
  `select` INT NOT NULL,
  `two words` VARCHAR(10) NOT NULL,
  `größe` INT DEFAULT NULL,
  PRIMARY KEY (`two words`, `select`),
  UNIQUE KEY `größe` (`größe`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci ROW_FORMAT=DYNAMIC;
INSERT INTO `Odd name``s` VALUES (1, 'a', 1), (1, 'b', NULL), (2, 'a', 3);

CREATE TABLE without_key (a INT DEFAULT NULL, b VARCHAR(20) DEFAULT NULL) ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_bin;
INSERT INTO without_key VALUES (1, 'x'), (1, 'X'), (NULL, 'ÿ'), (2, NULL);

CREATE TABLE counted (
  grp INT NOT NULL,
  n INT NOT NULL AUTO_INCREMENT,
  PRIMARY KEY (grp, n),
  KEY by_n (n)
) ENGINE=InnoDB AUTO_INCREMENT=77 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO counted (grp) VALUES (1), (1), (2);

CREATE TABLE empty_one (id INT NOT NULL PRIMARY KEY) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
