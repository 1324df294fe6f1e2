== WordPress
SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_520_ci';
SELECT @@SESSION.sql_mode;
SET SESSION sql_mode='NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
SHOW TABLES LIKE 'wp\_users';
SHOW FULL COLUMNS FROM `wp_options`; -- 1146
DESCRIBE wp_users; -- 1146
CREATE TABLE wp_users (
  ID bigint(20) unsigned NOT NULL auto_increment,
  user_login varchar(60) NOT NULL default '',
  user_pass varchar(255) NOT NULL default '',
  user_nicename varchar(50) NOT NULL default '',
  user_registered datetime NOT NULL default '0000-00-00 00:00:00',
  user_status int(11) NOT NULL default '0',
  PRIMARY KEY  (ID),
  KEY user_login_key (user_login),
  KEY user_nicename (user_nicename)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci;
CREATE TABLE wp_options (
  option_id bigint(20) unsigned NOT NULL auto_increment,
  option_name varchar(191) NOT NULL default '',
  option_value longtext NOT NULL,
  autoload varchar(20) NOT NULL default 'yes',
  PRIMARY KEY  (option_id),
  UNIQUE KEY option_name (option_name),
  KEY autoload (autoload)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci;
CREATE TABLE wp_postmeta (
  meta_id bigint(20) unsigned NOT NULL auto_increment,
  post_id bigint(20) unsigned NOT NULL default '0',
  meta_key varchar(255) default NULL,
  meta_value longtext,
  PRIMARY KEY  (meta_id),
  KEY post_id (post_id),
  KEY meta_key (meta_key(191))
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci;
SELECT option_name, option_value FROM wp_options WHERE autoload IN ( 'yes', 'on', 'auto-on', 'auto' );
INSERT INTO `wp_options` (`option_name`, `option_value`, `autoload`) VALUES ('siteurl', 'http://x', 'yes') ON DUPLICATE KEY UPDATE `option_name` = VALUES(`option_name`), `option_value` = VALUES(`option_value`), `autoload` = VALUES(`autoload`);
SHOW FULL COLUMNS FROM `wp_options`;
SHOW INDEX FROM wp_options;
SHOW VARIABLES LIKE 'max_allowed_packet';
SELECT SQL_CALC_FOUND_ROWS option_id FROM wp_options WHERE 1=1 ORDER BY option_name DESC LIMIT 0, 10; -- 1235
SELECT FOUND_ROWS();
ALTER TABLE wp_postmeta ADD KEY both_of (post_id, meta_key(100));
SELECT meta_id FROM wp_postmeta WHERE meta_key REGEXP '^_' LIMIT 1;
SELECT post_id FROM wp_postmeta ORDER BY RAND() LIMIT 1;
== Drupal
SET NAMES utf8mb4 COLLATE utf8mb4_general_ci;
SET sql_mode = 'ANSI,TRADITIONAL';
SET sql_mode = 'ANSI,STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO';
SELECT VERSION();
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
CREATE TABLE "drupal_install_test" (id int NOT NULL PRIMARY KEY);
INSERT INTO "drupal_install_test" (id) VALUES (1);
UPDATE "drupal_install_test" SET id = 2;
DELETE FROM "drupal_install_test";
DROP TABLE "drupal_install_test";
CREATE TABLE "cache_bootstrap" ("cid" VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'Primary Key: Unique cache ID.', "data" LONGBLOB NULL DEFAULT NULL, "expire" BIGINT NOT NULL DEFAULT 0, "created" DECIMAL(14, 3) NOT NULL DEFAULT 0, "serialized" SMALLINT NOT NULL DEFAULT 0, "tags" LONGTEXT NULL DEFAULT NULL, "checksum" VARCHAR(255) CHARACTER SET ascii NOT NULL, PRIMARY KEY ("cid"), INDEX "expire" ("expire"), INDEX "created" ("created")) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COMMENT 'Storage for the cache API.';
SELECT "cid", "data" FROM "cache_bootstrap" WHERE "cid" IN ('a', 'b') ORDER BY "cid";
INSERT INTO "cache_bootstrap" ("cid", "expire", "created", "data", "checksum", "serialized") VALUES ('a', -1, 1700000000.123, 'x', '0', 0) ON DUPLICATE KEY UPDATE "expire" = VALUES("expire"), "data" = VALUES("data");
SELECT 1 AS "expression" FROM "cache_bootstrap" "c" WHERE ("expire" <> -1) AND ("expire" < 1700000000);
CREATE TABLE "semaphore" ("name" VARCHAR(255) CHARACTER SET ascii NOT NULL DEFAULT '', "value" VARCHAR(255) CHARACTER SET ascii NOT NULL DEFAULT '', "expire" DOUBLE NOT NULL, PRIMARY KEY ("name"), INDEX "value" ("value"));
SHOW INDEX FROM "semaphore";
SELECT COLUMN_NAME, COLUMN_TYPE FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'semaphore' ORDER BY ordinal_position;
ALTER TABLE "semaphore" ADD "extra" INT unsigned NULL COMMENT 'x', ADD INDEX "extra" ("extra"); -- 1235
TRUNCATE "semaphore";
== Rails
SET NAMES utf8mb4, @@SESSION.sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO'), @@SESSION.sql_auto_is_null = 0, @@SESSION.wait_timeout = 2147483;
SELECT VERSION();
SHOW VARIABLES LIKE 'sql_mode';
SHOW VARIABLES LIKE 'version';
SELECT DATABASE() as db;
SELECT GET_LOCK('4285473892', 0);
SELECT table_name FROM information_schema.tables WHERE table_schema = database();
SELECT table_name FROM information_schema.tables WHERE table_schema = database() AND table_name = 'schema_migrations' AND table_type = 'BASE TABLE';
CREATE TABLE `schema_migrations` (`version` varchar(255) NOT NULL PRIMARY KEY);
CREATE TABLE `ar_internal_metadata` (`key` varchar(255) NOT NULL PRIMARY KEY, `value` varchar(255), `created_at` datetime(6) NOT NULL, `updated_at` datetime(6) NOT NULL);
SELECT `schema_migrations`.`version` FROM `schema_migrations` ORDER BY `schema_migrations`.`version` ASC;
CREATE TABLE `posts` (`id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, `title` varchar(255) DEFAULT 'x', `body` text, `is_public` tinyint(1) DEFAULT 1, `score` float(24), `price` decimal(8,2), `created_at` datetime(6) NOT NULL, INDEX `index_posts_on_title` (`title`)) CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;
SHOW FULL FIELDS FROM `posts`;
SHOW KEYS FROM `posts`;
SHOW CREATE TABLE `posts`;
SHOW TABLES LIKE 'posts';
SELECT column_name FROM information_schema.statistics WHERE index_name = 'PRIMARY' AND table_schema = database() AND table_name = 'posts' ORDER BY seq_in_index;
SELECT table_comment FROM information_schema.tables WHERE table_schema = database() AND table_name = 'posts';
SELECT @@max_allowed_packet;
SELECT fk.referenced_table_name AS 'to_table', fk.constraint_name AS 'name' FROM information_schema.key_column_usage fk WHERE fk.referenced_column_name IS NOT NULL AND fk.table_schema = database() AND fk.table_name = 'posts';
ALTER TABLE `posts` ADD `author_id` bigint, ADD INDEX `index_posts_on_author_id` (`author_id`); -- 1235
ALTER TABLE `posts` ADD `author_id` bigint;
CREATE INDEX `index_posts_on_author_id` ON `posts` (`author_id`);
CREATE UNIQUE INDEX `index_posts_on_body` ON `posts` (`body`(20), `title`);
ALTER TABLE `posts` CHANGE `title` `headline` varchar(255) DEFAULT 'x'; -- 1235
EXPLAIN SELECT `posts`.* FROM `posts` WHERE `posts`.`id` = 1;
SELECT 1 AS one FROM `posts` WHERE `posts`.`title` = BINARY 'x' LIMIT 1;
SELECT RELEASE_LOCK('4285473892');
BEGIN;
SAVEPOINT active_record_1;
RELEASE SAVEPOINT active_record_1;
COMMIT;
== Laravel
SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci';
SET SESSION sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
use `{database}`;
select table_name as `name`, (data_length + index_length) as `size`, table_comment as `comment`, engine as `engine`, table_collation as `collation` from information_schema.tables where table_schema = '{database}' and table_type in ('BASE TABLE', 'SYSTEM VERSIONED') order by table_name;
create table `migrations` (`id` int unsigned not null auto_increment primary key, `migration` varchar(255) not null, `batch` int not null) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
create table `users` (`id` bigint unsigned not null auto_increment primary key, `name` varchar(255) not null, `email` varchar(255) not null, `email_verified_at` timestamp null, `remember_token` varchar(100) null, `created_at` timestamp null, `updated_at` timestamp null) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
alter table `users` add unique `users_email_unique`(`email`);
create table `sessions` (`id` varchar(255) not null, `user_id` bigint unsigned null, `ip_address` varchar(45) null, `payload` longtext not null, `last_activity` int not null, primary key (`id`)) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
alter table `sessions` add index `sessions_user_id_index`(`user_id`);
create table `jobs` (`id` bigint unsigned not null auto_increment primary key, `queue` varchar(255) not null, `payload` longtext not null, `attempts` tinyint unsigned not null, `reserved_at` int unsigned null, `available_at` int unsigned not null, `created_at` int unsigned not null) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
select column_name as `name`, data_type as `type_name`, column_type as `type`, collation_name as `collation`, is_nullable as `nullable`, column_default as `default`, column_comment as `comment`, generation_expression as `expression`, extra as `extra` from information_schema.columns where table_schema = '{database}' and table_name = 'users' order by ordinal_position asc;
select index_name as `name`, group_concat(column_name order by seq_in_index) as `columns`, index_type as `type`, not non_unique as `unique` from information_schema.statistics where table_schema = '{database}' and table_name = 'users' group by index_name, index_type, non_unique;
select * from `jobs` where `queue` = 'default' and ((`reserved_at` is null and `available_at` <= 1700000000) or (`reserved_at` <= 1699999910)) order by `id` asc limit 1 for update skip locked;
select max(`batch`) as aggregate from `migrations`;
insert ignore into `users` (`name`, `email`) values ('a', 'b');
SET FOREIGN_KEY_CHECKS=0;
drop table `jobs`, `sessions`;
SET FOREIGN_KEY_CHECKS=1;
== Django
SELECT VERSION(), @@sql_mode, @@default_storage_engine, @@sql_auto_is_null, @@lower_case_table_names, CONVERT_TZ('2001-01-01 01:00:00', 'UTC', 'UTC') IS NOT NULL;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET SQL_AUTO_IS_NULL = 0;
SHOW FULL TABLES;
SELECT table_name, table_type, table_comment FROM information_schema.tables WHERE table_schema = DATABASE();
CREATE TABLE `django_migrations` (`id` bigint AUTO_INCREMENT NOT NULL PRIMARY KEY, `app` varchar(255) NOT NULL, `name` varchar(255) NOT NULL, `applied` datetime(6) NOT NULL);
CREATE TABLE `auth_user` (`id` integer AUTO_INCREMENT NOT NULL PRIMARY KEY, `password` varchar(128) NOT NULL, `last_login` datetime(6) NULL, `is_superuser` bool NOT NULL, `username` varchar(150) NOT NULL UNIQUE, `token` char(32) NOT NULL, `ratio` double precision NOT NULL, `data` longblob NOT NULL, `length` bigint NOT NULL, `positive` integer UNSIGNED NOT NULL);
SELECT `column_name`, `data_type`, `character_maximum_length`, `numeric_precision`, `numeric_scale`, `extra`, `column_default`, `collation_name`, CASE WHEN `column_type` LIKE '%% unsigned' THEN 1 ELSE 0 END AS is_unsigned, `column_comment` FROM information_schema.columns WHERE table_name = 'auth_user' AND table_schema = DATABASE();
SELECT * FROM `auth_user` LIMIT 1;
ALTER TABLE `auth_user` MODIFY `last_login` datetime(6) NULL; -- 1235
ALTER TABLE `auth_user` ADD COLUMN `email` varchar(254) DEFAULT '' NOT NULL;
ALTER TABLE `auth_user` ALTER COLUMN `email` DROP DEFAULT; -- 1235
ALTER TABLE `auth_user` ADD CONSTRAINT `auth_user_email_uniq` UNIQUE (`email`);
SELECT engine FROM information_schema.tables WHERE table_name = 'auth_user' AND table_schema = DATABASE();
SELECT kc.`constraint_name`, kc.`column_name`, kc.`referenced_table_name`, kc.`referenced_column_name` FROM information_schema.key_column_usage AS kc WHERE kc.table_schema = DATABASE() AND kc.table_name = 'auth_user' ORDER BY kc.`ordinal_position`;
SHOW INDEX FROM `auth_user`;
SELECT engine, support FROM information_schema.engines WHERE support IN ('DEFAULT', 'YES');
SELECT @@GLOBAL.time_zone, @@SESSION.time_zone;
SET foreign_key_checks = 0;
TRUNCATE `django_migrations`;
SET foreign_key_checks = 1;
SELECT 1 AS `a` FROM `auth_user` WHERE REGEXP_LIKE(`auth_user`.`username`, '^a', 'c') LIMIT 1;
SET autocommit = 0;
SAVEPOINT `s1234_x1`;
RELEASE SAVEPOINT `s1234_x1`;
== Hibernate with Connector/J
/* mysql-connector-j-8.4.0 (Revision: 1c3f5c149e0bfe31c7fbeb24e2d260cd890972c4) */SELECT  @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS character_set_client, @@character_set_connection AS character_set_connection, @@character_set_results AS character_set_results, @@character_set_server AS character_set_server, @@collation_server AS collation_server, @@collation_connection AS collation_connection, @@init_connect AS init_connect, @@interactive_timeout AS interactive_timeout, @@license AS license, @@lower_case_table_names AS lower_case_table_names, @@max_allowed_packet AS max_allowed_packet, @@net_write_timeout AS net_write_timeout, @@performance_schema AS performance_schema, @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, @@transaction_isolation AS transaction_isolation, @@wait_timeout AS wait_timeout;
/* ping */;
SHOW WARNINGS;
SET character_set_results = NULL;
SET NAMES utf8mb4;
SET autocommit=1;
SET sql_mode='STRICT_TRANS_TABLES';
SELECT @@session.transaction_isolation;
SELECT @@session.transaction_read_only;
SET SESSION TRANSACTION READ WRITE;
SHOW FULL TABLES FROM `{database}` LIKE '%';
SHOW VARIABLES WHERE Variable_name = 'lower_case_table_names' OR Variable_name = 'sql_mode';
SHOW COLLATION;
SHOW CHARACTER SET;
SHOW DATABASES;
SELECT TABLE_SCHEMA AS TABLE_CAT, NULL AS TABLE_SCHEM, TABLE_NAME, CASE WHEN TABLE_TYPE='BASE TABLE' THEN CASE WHEN TABLE_SCHEMA = 'mysql' OR TABLE_SCHEMA = 'performance_schema' THEN 'SYSTEM TABLE' ELSE 'TABLE' END WHEN TABLE_TYPE='TEMPORARY' THEN 'LOCAL_TEMPORARY' ELSE TABLE_TYPE END AS TABLE_TYPE, TABLE_COMMENT AS REMARKS, NULL AS TYPE_CAT FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = '{database}' HAVING TABLE_TYPE IN ('TABLE','VIEW',null,null,null) ORDER BY TABLE_TYPE, TABLE_SCHEMA, TABLE_NAME;
create table Book (id bigint not null auto_increment, active bit not null, price decimal(38,2), published datetime(6), rating float(53), title varchar(255), cover longblob, status enum ('DRAFT','PUBLISHED'), primary key (id)) engine=InnoDB;
create table book_seq (next_val bigint) engine=InnoDB;
insert into book_seq values ( 1 );
select next_val as id_val from book_seq for update;
alter table Book add constraint UK_title unique (title);
create index idx_rating on Book (rating);
select b1_0.id, b1_0.title from Book b1_0 where b1_0.id=1 for update of b1_0 nowait;
drop table if exists book_seq;
set session transaction read only;
set session transaction read write;
SELECT NULL AS TABLE_CAT, QUOTE(TABLE_NAME) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = '{database}';
KILL QUERY 4294967295; -- 1094
== Prisma
SET @@session.sql_mode = 'STRICT_TRANS_TABLES';
SELECT @@max_allowed_packet, @@wait_timeout, @@socket;
SELECT @@version, @@GLOBAL.version;
SELECT @@lower_case_table_names;
SELECT EXISTS(SELECT 1); -- 1235
CREATE TABLE `_prisma_migrations` (id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL, finished_at DATETIME(3), migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at DATETIME(3), started_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), applied_steps_count INTEGER UNSIGNED NOT NULL DEFAULT 0) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
SELECT GET_LOCK('prisma_migrate', 10);
SELECT DISTINCT BINARY table_info.table_name AS table_name, table_info.create_options AS create_options, table_info.table_comment AS table_comment FROM information_schema.tables AS table_info WHERE table_info.table_schema = '{database}' AND table_info.table_type = 'BASE TABLE' ORDER BY BINARY table_info.table_name;
SELECT column_name column_name, data_type data_type, column_type full_data_type, character_maximum_length character_maximum_length, numeric_precision numeric_precision, numeric_scale numeric_scale, datetime_precision datetime_precision, column_default column_default, is_nullable is_nullable, extra extra, table_name table_name, IF(column_comment = '', NULL, column_comment) AS column_comment, generation_expression FROM information_schema.columns WHERE table_schema = '{database}' ORDER BY ordinal_position;
SELECT DISTINCT index_name AS index_name, non_unique AS non_unique, Binary column_name AS column_name, seq_in_index AS seq_in_index, Binary table_name AS table_name, sub_part AS partial, Binary collation AS column_order, Binary index_type AS index_type FROM INFORMATION_SCHEMA.STATISTICS WHERE table_schema = '{database}' ORDER BY BINARY table_name, BINARY index_name, seq_in_index;
SELECT schema_name FROM information_schema.schemata;
SELECT id, checksum, finished_at, migration_name, logs, rolled_back_at, started_at, applied_steps_count FROM `_prisma_migrations` ORDER BY `started_at` ASC;
SELECT RELEASE_LOCK('prisma_migrate');
CREATE TABLE `User` (`id` INTEGER NOT NULL AUTO_INCREMENT, `email` VARCHAR(191) NOT NULL, `active` BOOLEAN NOT NULL DEFAULT true, `createdAt` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), `ratio` DOUBLE NULL, `amount` DECIMAL(65, 30) NULL, UNIQUE INDEX `User_email_key`(`email`), PRIMARY KEY (`id`)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
SELECT `{database}`.`User`.`id`, `{database}`.`User`.`email` FROM `{database}`.`User` WHERE (`{database}`.`User`.`email` = 'a' AND 1=1) LIMIT 1 OFFSET 0;
CREATE INDEX `User_createdAt_idx` ON `User`(`createdAt` DESC);
== TypeORM
SELECT VERSION() AS `version`;
SELECT DATABASE() AS `db_name`;
SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `TABLE_COMMENT` FROM `INFORMATION_SCHEMA`.`TABLES` WHERE `TABLE_SCHEMA` = '{database}' AND `TABLE_NAME` = 'typeorm_metadata';
SELECT * FROM `INFORMATION_SCHEMA`.`COLUMNS` WHERE `TABLE_SCHEMA` = '{database}' AND `TABLE_NAME` = 'user';
SELECT * FROM `INFORMATION_SCHEMA`.`KEY_COLUMN_USAGE` WHERE `CONSTRAINT_NAME` = 'PRIMARY' AND ((`TABLE_SCHEMA` = '{database}' AND `TABLE_NAME` = 'user'));
SELECT `SCHEMA_NAME`, `DEFAULT_CHARACTER_SET_NAME` as `CHARSET`, `DEFAULT_COLLATION_NAME` AS `COLLATION` FROM `INFORMATION_SCHEMA`.`SCHEMATA`;
START TRANSACTION;
CREATE TABLE `user` (`id` int NOT NULL AUTO_INCREMENT, `firstName` varchar(255) NOT NULL, `isActive` tinyint NOT NULL DEFAULT 1, `createdAt` datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), `updatedAt` datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), `role` enum ('admin', 'ghost') NOT NULL DEFAULT 'ghost', `price` decimal(10,2) NULL, INDEX `IDX_a` (`firstName`), UNIQUE INDEX `IDX_b` (`role`, `firstName`), PRIMARY KEY (`id`)) ENGINE=InnoDB;
ALTER TABLE `user` ADD `age` int NULL;
DROP INDEX `IDX_a` ON `user`;
COMMIT;
SHOW GRANTS FOR CURRENT_USER();
== Sequelize
SELECT VERSION() as `version`;
SELECT 1+1 AS result;
SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_NAME = 'Users' AND TABLE_SCHEMA = '{database}';
CREATE TABLE IF NOT EXISTS `Users` (`id` INTEGER auto_increment , `name` VARCHAR(255), `active` TINYINT(1) DEFAULT true, `uuid` CHAR(36) BINARY, `createdAt` DATETIME NOT NULL, `updatedAt` DATETIME NOT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB;
SHOW INDEX FROM `Users`;
SHOW FULL COLUMNS FROM `Users`;
SHOW TABLES;
START TRANSACTION;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
COMMIT;
DROP TABLE IF EXISTS `Users`;
SELECT CONSTRAINT_NAME as constraint_name, TABLE_NAME as tableName, REFERENCED_TABLE_NAME as referencedTableName FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE where TABLE_NAME = 'Users' AND CONSTRAINT_NAME != 'PRIMARY' AND CONSTRAINT_SCHEMA='{database}' AND REFERENCED_TABLE_NAME IS NOT NULL;
== Grafana
SET NAMES utf8mb4;
SELECT DATABASE();
SELECT `TABLE_NAME` FROM `INFORMATION_SCHEMA`.`TABLES` WHERE `TABLE_SCHEMA` = '{database}' AND `TABLE_NAME` = 'migration_log';
CREATE TABLE IF NOT EXISTS `migration_log` (`id` BIGINT(20) PRIMARY KEY AUTO_INCREMENT NOT NULL, `migration_id` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL, `sql` TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL, `success` TINYINT(1) NOT NULL, `error` TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL, `timestamp` DATETIME NOT NULL) ENGINE=InnoDB DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_unicode_ci;
SELECT IS_USED_LOCK('grafana');
SELECT GET_LOCK('9', 0);
SELECT RELEASE_LOCK('9');
SELECT UNIX_TIMESTAMP(`timestamp`) DIV 60 * 60 AS `time`, COUNT(*) FROM `migration_log` WHERE `timestamp` BETWEEN FROM_UNIXTIME(1600000000) AND FROM_UNIXTIME(1700000000) GROUP BY 1 ORDER BY 1;
SET SESSION time_zone = '+00:00';
ALTER TABLE `migration_log` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci; -- 1235
ALTER TABLE `migration_log` DROP PRIMARY KEY, CHANGE `id` `id` BIGINT(20) PRIMARY KEY AUTO_INCREMENT; -- 1235
SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name;
== Metabase
SELECT @@GLOBAL.time_zone AS global_tz, @@system_time_zone AS system_tz, time_format(timediff(now(), convert_tz(now(), @@GLOBAL.time_zone, '+00:00')), '%H:%i') AS offset;
SET @@session.time_zone = 'UTC';
SHOW GRANTS FOR CURRENT_USER();
SHOW VARIABLES LIKE 'version_comment';
SELECT 1;
CREATE TABLE `DATABASECHANGELOGLOCK` (ID INT NOT NULL, `LOCKED` BIT(1) NOT NULL, LOCKGRANTED datetime NULL, LOCKEDBY VARCHAR(255) NULL, CONSTRAINT PK_DATABASECHANGELOGLOCK PRIMARY KEY (ID));
INSERT INTO `DATABASECHANGELOGLOCK` (ID, `LOCKED`) VALUES (1, 0);
UPDATE `DATABASECHANGELOGLOCK` SET `LOCKED` = 1, LOCKEDBY = 'x (127.0.0.1)', LOCKGRANTED = NOW() WHERE ID = 1 AND `LOCKED` = 0;
CREATE TABLE `DATABASECHANGELOG` (ID VARCHAR(255) NOT NULL, AUTHOR VARCHAR(255) NOT NULL, FILENAME VARCHAR(255) NOT NULL, DATEEXECUTED datetime NOT NULL, ORDEREXECUTED INT NOT NULL, EXECTYPE VARCHAR(10) NOT NULL, MD5SUM VARCHAR(35) NULL, `DESCRIPTION` VARCHAR(255) NULL);
SELECT * FROM `DATABASECHANGELOG` ORDER BY DATEEXECUTED ASC, ORDEREXECUTED ASC;
CREATE TABLE `core_user` (`id` INT AUTO_INCREMENT NOT NULL, `email` VARCHAR(254) NOT NULL COMMENT 'x', `date_joined` timestamp(6) DEFAULT current_timestamp(6) NOT NULL, `is_active` BIT(1) DEFAULT 1 NOT NULL, CONSTRAINT `PK_CORE_USER` PRIMARY KEY (`id`), UNIQUE (`email`));
SELECT MAX(ORDEREXECUTED) FROM `DATABASECHANGELOG`;
SELECT count(*) FROM `core_user` WHERE date(`date_joined`) >= date(date_add(now(6), INTERVAL -30 day));
== phpMyAdmin
SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci';
SET collation_connection = 'utf8mb4_unicode_ci';
SELECT @@version, @@version_comment;
SELECT @@lower_case_table_names;
SHOW SESSION VARIABLES LIKE 'FOREIGN_KEY_CHECKS';
SET lc_messages = 'en_US';
SELECT CURRENT_USER();
SHOW GRANTS;
SELECT `SCHEMA_NAME` FROM `INFORMATION_SCHEMA`.`SCHEMATA`;
SELECT `CHARACTER_SET_NAME` AS `Charset`, `DESCRIBE_X` FROM `INFORMATION_SCHEMA`.`CHARACTER_SETS`; -- 1054
SELECT `CHARACTER_SET_NAME` AS `Charset`, `DEFAULT_COLLATE_NAME` AS `Default collation`, `DESCRIPTION` AS `Description`, `MAXLEN` AS `Maxlen` FROM `INFORMATION_SCHEMA`.`CHARACTER_SETS`;
SELECT `COLLATION_NAME` AS `Collation`, `CHARACTER_SET_NAME` AS `Charset`, `ID` AS `Id`, `IS_DEFAULT` AS `Default`, `IS_COMPILED` AS `Compiled`, `SORTLEN` AS `Sortlen` FROM `INFORMATION_SCHEMA`.`COLLATIONS`;
SHOW ENGINES;
SHOW TABLE STATUS FROM `{database}`;
SHOW FULL PROCESSLIST;
SHOW GLOBAL STATUS;
SHOW GLOBAL VARIABLES;
SHOW PLUGINS;
SHOW MASTER STATUS;
SHOW REPLICA STATUS;
SHOW BINARY LOGS;
SELECT *, `TABLE_SCHEMA` AS `Db`, `TABLE_NAME` AS `Name`, `ENGINE` AS `Engine`, `TABLE_ROWS` AS `Rows` FROM `information_schema`.`TABLES` t WHERE `TABLE_SCHEMA` IN ('{database}') ORDER BY Name ASC;
SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{database}';
SELECT * FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{database}';
SELECT * FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = '{database}';
SELECT * FROM information_schema.EVENTS WHERE EVENT_SCHEMA = '{database}';
SELECT * FROM information_schema.VIEWS WHERE TABLE_SCHEMA = '{database}';
SELECT * FROM information_schema.USER_PRIVILEGES WHERE GRANTEE = '\'root\'@\'%\'';
SELECT * FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = '{database}';
SHOW PROCEDURE STATUS WHERE Db = '{database}';
SHOW FUNCTION STATUS WHERE Db = '{database}';
SHOW EVENTS FROM `{database}`;
SHOW TRIGGERS FROM `{database}`;
SHOW CREATE DATABASE `{database}`;
CHECKSUM TABLE `mysql`.`user`; -- 1235
SET SQL_QUOTE_SHOW_CREATE = 1;
SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{database}' LIMIT 1;
== DBeaver
SELECT DATABASE();
SELECT @@GLOBAL.character_set_server, @@GLOBAL.collation_server;
SHOW ENGINES;
SHOW CHARSET;
SHOW COLLATION;
SHOW PRIVILEGES;
SHOW PLUGINS;
SELECT * FROM information_schema.TABLES t WHERE t.TABLE_SCHEMA = 'information_schema' AND t.TABLE_NAME = 'CHECK_CONSTRAINTS';
SELECT * FROM mysql.user ORDER BY user;
SHOW VARIABLES LIKE 'lower_case_table_names';
SET SESSION sql_mode='';
SET SQL_SELECT_LIMIT=DEFAULT;
SET SQL_SELECT_LIMIT=200;
SET net_write_timeout=600;
SELECT cc.CONSTRAINT_NAME, cc.CHECK_CLAUSE FROM INFORMATION_SCHEMA.CHECK_CONSTRAINTS cc;
EXPLAIN FORMAT=JSON SELECT 1; -- 1235
SHOW FULL TABLES FROM `{database}`;
SHOW TABLE STATUS FROM `{database}` LIKE '%';
SHOW GLOBAL STATUS LIKE 'Uptime';
== HeidiSQL
SET NAMES utf8mb4;
SHOW VARIABLES;
SHOW /*!50002 GLOBAL */ STATUS;
SELECT NOW();
SHOW SLAVE STATUS; 
SELECT CONNECTION_ID();
SHOW ENGINES;
SHOW DATABASES;
SHOW OPEN TABLES FROM `{database}` WHERE `in_use`!=0;
SELECT `DEFAULT_COLLATION_NAME` FROM `information_schema`.`SCHEMATA` WHERE `SCHEMA_NAME`='{database}';
SHOW TABLE STATUS FROM `{database}`;
SHOW FUNCTION STATUS WHERE `Db`='{database}';
SHOW PROCEDURE STATUS WHERE `Db`='{database}';
SHOW TRIGGERS FROM `{database}`;
SELECT *, EVENT_SCHEMA AS `Db`, EVENT_NAME AS `Name` FROM information_schema.`EVENTS` WHERE `EVENT_SCHEMA`='{database}';
SELECT * FROM `information_schema`.`COLUMNS` WHERE TABLE_SCHEMA='{database}' AND TABLE_NAME='x' ORDER BY ORDINAL_POSITION;
SELECT * FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA='{database}' AND TABLE_NAME='x' AND REFERENCED_TABLE_NAME IS NOT NULL;
SELECT * FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA='{database}' AND TABLE_NAME='x' AND REFERENCED_TABLE_NAME IS NOT NULL;
SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM `information_schema`.`CHECK_CONSTRAINTS` WHERE CONSTRAINT_SCHEMA='{database}';
SHOW COLLATION;
== ProxySQL's monitor
SELECT @@global.read_only read_only;
SELECT @@global.innodb_read_only read_only;
SELECT @@global.read_only & @@global.super_read_only read_only;
SHOW SLAVE STATUS;
SELECT @@version;
SET wait_timeout=2000;
DO 1;
SET autocommit=1;
SET SESSION character_set_results = 'utf8mb4';
SELECT @@global.server_uuid;
== mysqld_exporter
SET SESSION lock_wait_timeout=2;
SELECT @@version;
SHOW GLOBAL STATUS;
SHOW GLOBAL VARIABLES;
SHOW ALL SLAVES STATUS; -- 1064
SHOW SLAVE STATUS;
SHOW REPLICA STATUS;
SHOW ENGINE INNODB STATUS;
SHOW BINARY LOGS;
SELECT @@log_bin;
SELECT VERSION();
SELECT user,host,Select_priv,Insert_priv,Update_priv,Delete_priv,Create_priv,Drop_priv,Reload_priv,Shutdown_priv,Process_priv,File_priv,Grant_priv,References_priv,Index_priv,Alter_priv,Show_db_priv,Super_priv,Create_tmp_table_priv,Lock_tables_priv,Execute_priv,Repl_slave_priv,Repl_client_priv,Create_view_priv,Show_view_priv,Create_routine_priv,Alter_routine_priv,Create_user_priv,Event_priv,Trigger_priv,Create_tablespace_priv,max_questions,max_updates,max_connections,max_user_connections FROM mysql.user;
SELECT table_schema, table_name, column_name, auto_increment FROM information_schema.tables; -- 1054
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ifnull(ENGINE, 'NONE') as ENGINE, ifnull(VERSION, '0') as VERSION, ifnull(ROW_FORMAT, 'NONE') as ROW_FORMAT, ifnull(TABLE_ROWS, '0') as TABLE_ROWS, ifnull(DATA_LENGTH, '0') as DATA_LENGTH, ifnull(INDEX_LENGTH, '0') as INDEX_LENGTH, ifnull(DATA_FREE, '0') as DATA_FREE, ifnull(CREATE_OPTIONS, 'NONE') as CREATE_OPTIONS FROM information_schema.tables WHERE TABLE_SCHEMA = '{database}';
SELECT SCHEMA_NAME FROM information_schema.schemata WHERE SCHEMA_NAME NOT IN ('mysql', 'performance_schema', 'information_schema');
SELECT user, COALESCE(command, '') AS command, COALESCE(state, '') AS state, COUNT(*) AS processes, SUM(time) AS seconds FROM information_schema.processlist WHERE ID != connection_id() AND TIME >= 0 GROUP BY user, command, state;
== Telegraf
SHOW GLOBAL STATUS;
SHOW GLOBAL VARIABLES;
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS, DATA_LENGTH, INDEX_LENGTH, DATA_FREE FROM information_schema.tables WHERE TABLE_SCHEMA = '{database}';
SELECT COALESCE(command, ''), COALESCE(state, ''), count(*) FROM information_schema.processlist WHERE ID != connection_id() GROUP BY command, state ORDER BY null;
SHOW SLAVE STATUS;
SELECT @@global.read_only, @@global.super_read_only;
== Datadog
SELECT VERSION();
SELECT @@version_comment;
SHOW GLOBAL STATUS;
SHOW GLOBAL VARIABLES;
SELECT engine FROM information_schema.ENGINES WHERE engine = 'InnoDB' and (support = 'YES' or support = 'DEFAULT');
SHOW ENGINE INNODB STATUS;
SHOW SLAVE STATUS;
SELECT @@server_uuid, @@hostname, @@aws_region; -- 1193
SELECT @@server_uuid, @@hostname, @@datadir, @@port;
SELECT @@GLOBAL.performance_schema;
SELECT table_schema, IFNULL(SUM(data_length+index_length)/1024/1024,0) AS total_mb FROM information_schema.tables GROUP BY table_schema;
SELECT processlist_user, COUNT(*) FROM performance_schema.threads; -- 1146
SELECT plugin_status FROM information_schema.plugins WHERE plugin_name = 'group_replication';
SET @@SESSION.autocommit = ON;
SELECT 1 FROM information_schema.columns WHERE table_schema='performance_schema' AND column_name='x';
== mysqldump 8.0
/*!40100 SET @@SQL_MODE='' */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!80000 SET SESSION information_schema_stats_expiry=0 */;
SET SESSION NET_READ_TIMEOUT= 86400, SESSION NET_WRITE_TIMEOUT= 86400;
SHOW VARIABLES LIKE 'gtid\_mode';
SELECT LOGFILE_GROUP_NAME, FILE_NAME, TOTAL_EXTENTS, INITIAL_SIZE, ENGINE, EXTRA FROM INFORMATION_SCHEMA.FILES WHERE FILE_TYPE = 'UNDO LOG' AND FILE_NAME IS NOT NULL AND LOGFILE_GROUP_NAME IS NOT NULL GROUP BY LOGFILE_GROUP_NAME, FILE_NAME, ENGINE, TOTAL_EXTENTS, INITIAL_SIZE ORDER BY LOGFILE_GROUP_NAME;
SELECT DISTINCT TABLESPACE_NAME, FILE_NAME, LOGFILE_GROUP_NAME, EXTENT_SIZE, INITIAL_SIZE, ENGINE FROM INFORMATION_SCHEMA.FILES WHERE FILE_TYPE = 'DATAFILE' ORDER BY TABLESPACE_NAME, LOGFILE_GROUP_NAME;
SHOW VARIABLES LIKE 'ndbinfo\_version';
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, name VARCHAR(10));
INSERT INTO t VALUES (1, 'a');
USE `{database}`;
SHOW CREATE DATABASE IF NOT EXISTS `{database}`;
show tables;
LOCK TABLES `t` READ /*!32311 LOCAL */;
show table status like 't';
SET SQL_QUOTE_SHOW_CREATE=1;
SET SESSION character_set_results = 'binary';
show create table `t`;
SET SESSION character_set_results = 'utf8mb4';
show fields from `t`;
SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`;
SELECT `COLUMN_NAME` AS `Field`, `COLUMN_TYPE` AS `Type`, `IS_NULLABLE` AS `Null`, `COLUMN_KEY` AS `Key`, `COLUMN_DEFAULT` AS `Default`, `EXTRA` AS `Extra` FROM `INFORMATION_SCHEMA`.`COLUMNS` WHERE TABLE_SCHEMA = '{database}' AND TABLE_NAME = 't';
SET SESSION character_set_results = 'binary';
use `{database}`;
select @@collation_database;
SHOW TRIGGERS LIKE 't';
SET SESSION character_set_results = 'utf8mb4';
SELECT COLUMN_NAME, JSON_EXTRACT(HISTOGRAM, '$."number-of-buckets-specified"') FROM information_schema.COLUMN_STATISTICS WHERE SCHEMA_NAME = '{database}' AND TABLE_NAME = 't';
UNLOCK TABLES;
FLUSH /*!40101 LOCAL */ TABLES;
FLUSH TABLES WITH READ LOCK; -- 1235
UNLOCK TABLES;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION /*!40100 WITH CONSISTENT SNAPSHOT */; -- 1235
START TRANSACTION;
SAVEPOINT sp;
ROLLBACK TO SAVEPOINT sp;
RELEASE SAVEPOINT sp;
COMMIT;
/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!50503 SET NAMES utf8mb4 */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!50503 SET character_set_client = utf8mb4 */;
CREATE TABLE `u` (`a` int unsigned NOT NULL AUTO_INCREMENT, `b` varchar(20) CHARACTER SET utf8mb3 DEFAULT NULL, PRIMARY KEY (`a`), KEY `b` (`b`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;
/*!80013 SET @x = 1 */;
/*!40101 SET character_set_client = @saved_cs_client */;
LOCK TABLES `u` WRITE;
/*!40000 ALTER TABLE `u` DISABLE KEYS */;
INSERT INTO `u` VALUES (1,'x');
/*!40000 ALTER TABLE `u` ENABLE KEYS */;
UNLOCK TABLES;
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `{database}` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */ /*!80016 DEFAULT ENCRYPTION='N' */;
== MySQL Workbench
SET NAMES 'utf8mb4';
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET SQL_SAFE_UPDATES=1;
SELECT current_user();
SHOW SESSION VARIABLES LIKE 'lower_case_table_names';
SHOW SESSION VARIABLES LIKE 'sql_mode';
SHOW SESSION VARIABLES LIKE 'version_comment';
SHOW SESSION STATUS LIKE 'Ssl_cipher';
SET CHARACTER SET utf8;
SET SQL_SAFE_UPDATES=0;
SHOW GLOBAL VARIABLES;
SHOW DATABASES;
SHOW FULL TABLES FROM `{database}`;
SHOW COLUMNS FROM `information_schema`.`TABLES`;
