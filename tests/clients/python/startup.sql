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
SELECT SQL_CALC_FOUND_ROWS option_id FROM wp_options WHERE 1=1 ORDER BY option_name DESC LIMIT 0, 10;
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
ALTER TABLE "semaphore" ADD "extra" INT unsigned NULL COMMENT 'x', ADD INDEX "extra" ("extra");
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
ALTER TABLE `posts` ADD `author_id` bigint, ADD INDEX `index_posts_on_author_id` (`author_id`);
CREATE UNIQUE INDEX `index_posts_on_body` ON `posts` (`body`(20), `title`);
ALTER TABLE `posts` CHANGE `title` `headline` varchar(255) DEFAULT 'x';
EXPLAIN SELECT `posts`.* FROM `posts` WHERE `posts`.`id` = 1;
SELECT 1 AS one FROM `posts` WHERE `posts`.`headline` = BINARY 'x' LIMIT 1;
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
ALTER TABLE `auth_user` MODIFY `last_login` datetime(6) NULL;
ALTER TABLE `auth_user` ADD COLUMN `email` varchar(254) DEFAULT '' NOT NULL;
ALTER TABLE `auth_user` ALTER COLUMN `email` DROP DEFAULT;
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
SELECT EXISTS(SELECT 1);
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
ALTER TABLE `migration_log` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
ALTER TABLE `migration_log` DROP PRIMARY KEY, CHANGE `id` `id` BIGINT(20) PRIMARY KEY AUTO_INCREMENT;
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
EXPLAIN FORMAT=JSON SELECT 1;
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
SELECT processlist_user, COUNT(*) FROM performance_schema.threads; -- 1140
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
== Prisma, introspecting
CREATE TABLE `User` (`id` INTEGER NOT NULL AUTO_INCREMENT, `email` VARCHAR(191) NOT NULL, `age` INTEGER NULL, UNIQUE INDEX `User_email_key`(`email`), PRIMARY KEY (`id`), CONSTRAINT `adult` CHECK (`age` >= 18)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE VIEW `Adult` AS SELECT id, email FROM `User` WHERE age >= 18;
select schema_name as schema_name from information_schema.schemata;
SELECT TABLE_NAME AS view_name, VIEW_DEFINITION AS view_sql FROM INFORMATION_SCHEMA.VIEWS WHERE TABLE_SCHEMA = '{database}';
SELECT routine_name AS name, routine_definition AS definition FROM information_schema.routines WHERE ROUTINE_SCHEMA = '{database}' AND ROUTINE_TYPE = 'PROCEDURE';
SELECT DISTINCT BINARY table_info.table_name AS table_name, table_info.create_options AS create_options, table_info.table_comment AS table_comment FROM information_schema.tables AS table_info JOIN information_schema.columns AS column_info ON BINARY column_info.table_name = BINARY table_info.table_name WHERE table_info.table_schema = '{database}' AND column_info.table_schema = '{database}'
                -- Exclude views.
                AND table_info.table_type = 'BASE TABLE' ORDER BY BINARY table_info.table_name;
SELECT SUM(data_length + index_length) as size FROM information_schema.TABLES WHERE table_schema = '{database}';
SELECT tc.table_schema AS namespace, tc.table_name AS table_name, tc.constraint_name AS constraint_name, LOWER(LEFT(tc.constraint_type, 1)) AS constraint_type, cc.check_clause AS constraint_definition FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS tc LEFT JOIN INFORMATION_SCHEMA.CHECK_CONSTRAINTS cc ON cc.constraint_schema = tc.table_schema AND cc.constraint_name = tc.constraint_name WHERE constraint_type = 'CHECK' ORDER BY namespace, table_name, constraint_type, constraint_name;
SELECT DISTINCT index_name AS index_name, non_unique AS non_unique, Binary column_name AS column_name, seq_in_index AS seq_in_index, Binary table_name AS table_name, sub_part AS partial, Binary collation AS column_order, expression IS NOT NULL AS is_expression, index_type AS index_type FROM INFORMATION_SCHEMA.STATISTICS WHERE table_schema = '{database}' ORDER BY BINARY table_name, BINARY index_name, seq_in_index;
SELECT kcu.constraint_name constraint_name, kcu.column_name column_name, kcu.referenced_table_name referenced_table_name, kcu.referenced_column_name referenced_column_name, kcu.ordinal_position ordinal_position, kcu.table_name table_name, rc.delete_rule delete_rule, rc.update_rule update_rule FROM information_schema.key_column_usage AS kcu INNER JOIN information_schema.referential_constraints AS rc ON BINARY kcu.constraint_name = BINARY rc.constraint_name WHERE BINARY kcu.table_schema = '{database}' AND BINARY rc.constraint_schema = '{database}' AND kcu.referenced_column_name IS NOT NULL ORDER BY BINARY kcu.table_schema, BINARY kcu.table_name, BINARY kcu.constraint_name, kcu.ordinal_position;
SELECT column_name column_name, data_type data_type, column_type full_data_type, character_maximum_length character_maximum_length, numeric_precision numeric_precision, numeric_scale numeric_scale, datetime_precision datetime_precision, column_default column_default, is_nullable is_nullable, extra extra, table_name table_name, IF(column_comment = '', NULL, column_comment) AS column_comment, generation_expression generation_expression FROM information_schema.columns WHERE table_schema = '{database}' ORDER BY ordinal_position;
SELECT COUNT(*) FROM information_schema.TABLES WHERE table_schema = '{database}' AND table_type = 'BASE TABLE' OR table_schema = '{database}' AND table_type = 'VIEW';
SELECT EXISTS(SELECT 1 FROM `User` WHERE `id` = 1);
SELECT `t0`.`id`, (SELECT COUNT(*) FROM (SELECT `t1`.`id` FROM `User` AS `t1` WHERE `t1`.`age` > 3) AS `x`) AS `n` FROM `User` AS `t0` WHERE (`t0`.`id`, `t0`.`email`) IN (SELECT `id`, `email` FROM `User`) ORDER BY `t0`.`id` ASC LIMIT 10 OFFSET 0;
== Laravel, inspecting
create table `posts` (`id` bigint unsigned not null auto_increment primary key, `user_id` bigint unsigned null, `title` varchar(255) not null, `body` text null, `score` int as (char_length(`title`)) stored, `created_at` timestamp null) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
select exists (select 1 from information_schema.tables where table_schema = schema() and table_name = 'migrations' and table_type in ('BASE TABLE', 'SYSTEM VERSIONED')) as `exists`;
select table_name as `name`, table_schema as `schema`, (data_length + index_length) as `size`, table_comment as `comment`, engine as `engine`, table_collation as `collation` from information_schema.tables where table_type in ('BASE TABLE', 'SYSTEM VERSIONED') and table_schema not in ('information_schema', 'mysql', 'ndbinfo', 'performance_schema', 'sys') order by table_schema, table_name;
select table_name as `name`, table_schema as `schema`, view_definition as `definition` from information_schema.views where table_schema = schema() order by table_schema, table_name;
select kc.constraint_name as `name`, group_concat(kc.column_name order by kc.ordinal_position) as `columns`, kc.referenced_table_schema as `foreign_schema`, kc.referenced_table_name as `foreign_table`, group_concat(kc.referenced_column_name order by kc.ordinal_position) as `foreign_columns`, rc.update_rule as `on_update`, rc.delete_rule as `on_delete` from information_schema.key_column_usage kc join information_schema.referential_constraints rc on kc.constraint_schema = rc.constraint_schema and kc.constraint_name = rc.constraint_name where kc.table_schema = schema() and kc.table_name = 'posts' and kc.referenced_table_name is not null group by kc.constraint_name, kc.referenced_table_schema, kc.referenced_table_name, rc.update_rule, rc.delete_rule;
select index_name as `name`, group_concat(column_name order by seq_in_index) as `columns`, index_type as `type`, not non_unique as `unique` from information_schema.statistics where table_schema = schema() and table_name = 'posts' group by index_name, index_type, non_unique;
select schema_name as name, schema_name = schema() as `default` from information_schema.schemata where schema_name not in ('information_schema', 'mysql', 'ndbinfo', 'performance_schema', 'sys') order by schema_name;
alter table `posts` rename index `nothing` to `something`; -- 1176
alter table `posts` add index `posts_user_id_title_index`(`user_id`, `title`), algorithm=inplace;
alter table `posts` add `published_at` datetime null after `title`;
alter table `posts` modify `title` varchar(100) not null default 'x';
alter table `posts` rename column `body` to `content`;
alter table `posts` drop `published_at`, drop `content`;
alter table `posts` drop index `posts_user_id_title_index`;
rename table `posts` to `articles`;
select *, row_number() over (partition by `articles`.`user_id` order by `articles`.`created_at` desc) as `laravel_row` from `articles` where `articles`.`user_id` in (1, 2, 3);
select * from (select *, row_number() over (partition by `articles`.`user_id` order by `articles`.`created_at` desc) as `laravel_row` from `articles` where `articles`.`user_id` in (1, 2)) as `laravel_table` where `laravel_row` <= 3 order by `laravel_row`;
insert into `articles` (`user_id`, `title`) values (1, 'a'), (2, 'b') on duplicate key update `title` = values(`title`);
insert into `articles` (`user_id`, `title`) values (1, 'c') as laravel_upsert_alias on duplicate key update `title` = `laravel_upsert_alias`.`title`;
update `articles` set `title` = case when `id` = 1 then 'q' else `title` end, `created_at` = '2024-01-01 00:00:00' where `id` in (1, 2);
update `articles` inner join (select 1 as n) as `j` on `articles`.`id` = `j`.`n` set `articles`.`title` = 'z';
delete `articles` from `articles` left join (select 9 as n) as `j` on `articles`.`id` = `j`.`n` where `j`.`n` is not null;
insert into `articles` (`user_id`, `title`) select `user_id`, `title` from `articles` where exists (select 1 from `articles` as `b` where `b`.`id` = `articles`.`id`);
select exists(select * from `articles` where `title` = 'a') as `exists`;
select count(*) as aggregate from (select 1 from `articles` group by `user_id` having count(*) > 1) as `temp_table`;
select `articles`.*, (select count(*) from `articles` as `laravel_reserved_0` where `articles`.`user_id` = `laravel_reserved_0`.`user_id`) as `siblings_count` from `articles` order by `siblings_count` desc;
select * from `articles` where date(`created_at`) = '2024-01-01' or year(`created_at`) > 2020 order by rand() limit 3;
select * from `articles` where `id` in (select `id` from `articles` where `title` like '%a%') for update;
lock tables `articles` write;
unlock tables;
show full tables where table_type = 'BASE TABLE';
show full tables where table_type = 'VIEW';
set foreign_key_checks=0;
drop table `articles`;
set foreign_key_checks=1;
== Rails, dumping its schema
CREATE TABLE `posts` (`id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, `title` varchar(255) DEFAULT 'x', `state` int NOT NULL DEFAULT 0, CONSTRAINT `positive` CHECK (`state` >= 0));
SELECT table_name FROM (SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = database()) _subquery WHERE _subquery.table_type = 'BASE TABLE';
SELECT table_name FROM (SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = database()) _subquery WHERE _subquery.table_type = 'VIEW';
SELECT fk.referenced_table_name AS 'to_table', fk.referenced_column_name AS 'primary_key', fk.column_name AS 'column', fk.constraint_name AS 'name', fk.ordinal_position AS 'position', rc.update_rule AS 'on_update', rc.delete_rule AS 'on_delete' FROM information_schema.referential_constraints rc JOIN information_schema.key_column_usage fk USING (constraint_schema, constraint_name) WHERE fk.referenced_column_name IS NOT NULL AND fk.table_schema = database() AND fk.table_name = 'posts' AND rc.constraint_schema = database() AND rc.table_name = 'posts';
SELECT cc.constraint_name AS 'name', cc.check_clause AS 'expression' FROM information_schema.check_constraints cc JOIN information_schema.table_constraints tc USING (constraint_schema, constraint_name) WHERE tc.table_schema = database() AND tc.table_name = 'posts' AND cc.constraint_schema = database();
SELECT column_name AS name, column_type, character_set_name, collation_name FROM information_schema.columns WHERE table_schema = database() AND table_name = 'posts' AND column_name = 'title';
SELECT `posts`.* FROM `posts` INNER JOIN `posts` `others` ON `others`.`id` = `posts`.`id` WHERE (`posts`.`title` LIKE '%x%' OR `posts`.`state` NOT IN (1, 2)) ORDER BY `posts`.`id` DESC LIMIT 1;
SELECT DISTINCT `posts`.`id` AS t0_r0, `posts`.`title` AS t0_r1 FROM `posts` LEFT OUTER JOIN `posts` `comments` ON `comments`.`state` = `posts`.`id` WHERE `comments`.`id` IS NULL;
INSERT INTO `posts` (`title`,`state`) VALUES ('a', 1) AS `posts_values` ON DUPLICATE KEY UPDATE `title`=`posts_values`.`title`;
INSERT INTO `posts` (`title`,`state`) VALUES ('a', 1) AS `posts_values` ON DUPLICATE KEY UPDATE updated_at=(CASE WHEN (`posts`.`title`<=>`posts_values`.`title`) THEN `posts`.`state` ELSE 1 END); -- 1054
INSERT INTO `posts` (`title`,`state`) VALUES ('a', 1) AS `posts_values` ON DUPLICATE KEY UPDATE state=(CASE WHEN (`posts`.`title`<=>`posts_values`.`title`) THEN `posts`.`state` ELSE 1 END),`title`=`posts_values`.`title`;
INSERT INTO `posts` (`title`,`state`) VALUES ('a', 1) ON DUPLICATE KEY UPDATE `id`=`id`;
DELETE FROM `posts` WHERE `posts`.`id` IN (SELECT `id` FROM (SELECT `posts`.`id` FROM `posts` LIMIT 10) AS __active_record_temp);
UPDATE `posts` SET `posts`.`title` = 'b' WHERE (`posts`.`id`) IN (SELECT `id` FROM (SELECT DISTINCT `posts`.`id` FROM `posts` WHERE `posts`.`state` = 1 ORDER BY `posts`.`id` LIMIT 3) AS __active_record_temp);
UPDATE `posts` SET `posts`.`state` = COALESCE(`posts`.`state`, 0) + 1 WHERE `posts`.`id` = 1;
SELECT /*+ MAX_EXECUTION_TIME(1000) */ 1 AS one FROM `posts` LIMIT 1;
ALTER TABLE `posts` ADD CONSTRAINT `short` CHECK (char_length(`title`) < 100);
ALTER TABLE `posts` DROP CHECK `short`;
ALTER TABLE `posts` ADD `slug` varchar(50) NOT NULL DEFAULT '', ADD UNIQUE INDEX `index_posts_on_slug_and_id` (`slug`, `id`);
ALTER TABLE `posts` CHANGE `slug` `path` varchar(70) NOT NULL;
ALTER TABLE `posts` ALTER COLUMN `path` SET DEFAULT 'p';
ALTER TABLE `posts` RENAME INDEX `index_posts_on_slug_and_id` TO `i2`;
DROP INDEX `i2` ON `posts`;
CREATE FULLTEXT INDEX `ft` ON `posts` (`title`); -- 1235
SHOW WARNINGS;
SHOW VARIABLES LIKE 'collation_database';
SHOW VARIABLES LIKE 'character_set_database';
EXPLAIN ANALYZE SELECT `posts`.* FROM `posts`;
EXPLAIN FORMAT=TREE SELECT `posts`.* FROM `posts`;
EXPLAIN FORMAT=JSON SELECT `posts`.* FROM `posts`;
== Django, inspecting
CREATE TABLE `polls_question` (`id` bigint AUTO_INCREMENT NOT NULL PRIMARY KEY, `text` varchar(200) NOT NULL, `published` datetime(6) NOT NULL, `votes` int NOT NULL, CONSTRAINT `some_votes` CHECK (`votes` >= 0), CONSTRAINT `once` UNIQUE (`text`, `published`));
SELECT kc.`constraint_name`, kc.`column_name`, kc.`referenced_table_name`, kc.`referenced_column_name`, c.`constraint_type` FROM information_schema.key_column_usage AS kc, information_schema.table_constraints AS c WHERE kc.table_schema = DATABASE() AND (kc.referenced_table_schema = DATABASE() OR kc.referenced_table_schema IS NULL) AND c.table_schema = kc.table_schema AND c.table_name = kc.table_name AND c.constraint_name = kc.constraint_name AND c.constraint_type != 'CHECK' AND kc.table_name = 'polls_question' ORDER BY kc.`ordinal_position`;
SELECT cc.constraint_name, cc.check_clause FROM information_schema.check_constraints AS cc, information_schema.table_constraints AS tc WHERE cc.constraint_schema = DATABASE() AND tc.table_schema = cc.constraint_schema AND cc.constraint_name = tc.constraint_name AND tc.constraint_type = 'CHECK' AND tc.table_name = 'polls_question';
SELECT a.referenced_table_name, a.constraint_name FROM information_schema.key_column_usage a WHERE a.table_schema = DATABASE() AND a.table_name = 'polls_question' AND a.referenced_table_schema = DATABASE() AND a.referenced_table_name IS NOT NULL;
SELECT kcu.constraint_name FROM information_schema.key_column_usage AS kcu WHERE kcu.table_schema = DATABASE() AND kcu.table_name = 'polls_question' AND kcu.column_name = 'id' AND EXISTS (SELECT 1 FROM information_schema.table_constraints AS tc WHERE tc.constraint_name = kcu.constraint_name AND tc.constraint_type = 'PRIMARY KEY');
SELECT table_name, column_name FROM information_schema.key_column_usage WHERE table_schema = DATABASE() AND table_name = 'polls_question' AND referenced_table_name IS NULL;
SELECT `polls_question`.`id`, COUNT(`polls_question`.`votes`) AS `n`, CAST(DATE_FORMAT(`polls_question`.`published`, '%Y-%m-01') AS DATE) AS `month` FROM `polls_question` GROUP BY `polls_question`.`id`, 3 HAVING COUNT(`polls_question`.`votes`) > 1 ORDER BY NULL;
SELECT EXTRACT(YEAR FROM CONVERT_TZ(`polls_question`.`published`, 'UTC', '+02:00')) AS `y` FROM `polls_question`;
SELECT DISTINCT CAST(DATE(CONVERT_TZ(`polls_question`.`published`, '+00:00', '-05:00')) AS DATETIME) AS `d` FROM `polls_question` WHERE `polls_question`.`published` IS NOT NULL ORDER BY 1 ASC;
INSERT INTO `polls_question` (`text`, `published`, `votes`) VALUES ('a', '2024-01-01 10:00:00.123456', 3) RETURNING `polls_question`.`id`; -- 1064
INSERT INTO `polls_question` (`text`, `published`, `votes`) VALUES ('a', '2024-01-01 10:00:00.123456', 3) AS new ON DUPLICATE KEY UPDATE `votes` = new.`votes`;
UPDATE `polls_question` SET `votes` = CASE WHEN (`polls_question`.`id` = 1) THEN 5 WHEN (`polls_question`.`id` = 2) THEN 6 ELSE NULL END WHERE `polls_question`.`id` IN (1, 2);
SELECT `polls_question`.`id` FROM `polls_question` WHERE EXISTS(SELECT 1 AS `a` FROM `polls_question` U0 WHERE (U0.`votes` = (`polls_question`.`votes` + 1)) LIMIT 1);
SELECT `polls_question`.`id`, (SELECT U0.`text` FROM `polls_question` U0 WHERE U0.`id` = (`polls_question`.`id`) ORDER BY U0.`published` DESC LIMIT 1) AS `newest` FROM `polls_question` ORDER BY `newest` IS NULL, `newest` ASC;
(SELECT `id` AS `col1` FROM `polls_question`) UNION (SELECT `votes` AS `col1` FROM `polls_question`) ORDER BY (1) ASC LIMIT 3;
ALTER TABLE `polls_question` ADD COLUMN `slug` varchar(50) DEFAULT 'x' NOT NULL, ALTER COLUMN `votes` SET DEFAULT 7;
ALTER TABLE `polls_question` MODIFY `text` longtext NOT NULL; -- 1170
ALTER TABLE `polls_question` DROP INDEX `once`;
ALTER TABLE `polls_question` RENAME COLUMN `text` TO `title`;
CREATE INDEX `by_title` ON `polls_question` (`title` DESC, `published`);
RENAME TABLE `polls_question` TO `polls_poll`;
EXPLAIN FORMAT=TRADITIONAL SELECT * FROM `polls_poll`;
SELECT VERSION(), @@sql_mode, @@default_storage_engine, @@sql_auto_is_null, @@lower_case_table_names, CONVERT_TZ('2001-01-01 01:00:00', 'UTC', 'UTC') IS NOT NULL;
== SQLAlchemy, reflecting
CREATE TABLE parent (id INTEGER NOT NULL AUTO_INCREMENT, name VARCHAR(50), kind ENUM('a','b') NOT NULL DEFAULT 'a', data BLOB, PRIMARY KEY (id), CONSTRAINT uq UNIQUE (name), CONSTRAINT ck CHECK (name <> 'z'));
CREATE INDEX ix ON parent (kind, name(10));
CREATE VIEW parents AS SELECT * FROM parent;
select @@version;
SELECT DATABASE();
SELECT @@transaction_isolation;
SHOW VARIABLES LIKE 'sql_mode';
SHOW VARIABLES LIKE 'lower_case_table_names';
SELECT CAST('test collated returns' AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AS anon_1;
ROLLBACK;
SHOW FULL TABLES FROM `{database}`;
SHOW schemas;
SHOW CREATE TABLE `{database}`.`parent`;
SHOW CREATE TABLE `parents`;
DESCRIBE `{database}`.`parents`;
SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{database}' AND table_name = 'parent';
SELECT table_schema, table_name, column_name FROM information_schema.columns WHERE (table_schema, table_name, lower(column_name)) IN (('{database}', 'parent', 'id'), ('{database}', 'parents', 'name'));
SELECT anon_1.id FROM (SELECT parent.id AS id FROM parent UNION ALL SELECT parent.id AS id FROM parent) AS anon_1 ORDER BY anon_1.id LIMIT 5, 10;
WITH RECURSIVE tree(id, depth) AS (SELECT parent.id AS id, 1 AS depth FROM parent UNION ALL SELECT tree.id, tree.depth + 1 AS anon_1 FROM tree WHERE tree.depth < 3) SELECT tree.id, tree.depth FROM tree;
SELECT parent.id FROM parent WHERE parent.id IN (NULL) AND (1 != 1);
SELECT parent.id, count(*) OVER (ORDER BY parent.id) AS n, concat(parent.name, 'x') AS c FROM parent WHERE parent.name <=> NULL OR parent.name REGEXP 'a' ORDER BY CASE WHEN (parent.name IS NULL) THEN 1 ELSE 0 END;
SELECT CAST(parent.id AS DECIMAL(10, 2)) AS d, CAST(parent.name AS SIGNED INTEGER) AS s, CAST(parent.id AS CHAR) AS c FROM parent FOR UPDATE SKIP LOCKED;
INSERT INTO parent (name) VALUES ('a') AS new ON DUPLICATE KEY UPDATE name = new.name, kind = 'b';
XA RECOVER; -- 1235
BEGIN;
SAVEPOINT sa_savepoint_1;
ROLLBACK TO SAVEPOINT sa_savepoint_1;
== DBeaver, browsing
CREATE TABLE orders (id INT NOT NULL PRIMARY KEY, total DECIMAL(10,2), note TEXT, KEY by_total (total), CONSTRAINT positive CHECK (total >= 0));
CREATE VIEW totals AS SELECT SUM(total) AS s FROM orders;
SET SESSION sql_mode='';
SELECT @@GLOBAL.character_set_server,@@GLOBAL.collation_server;
SELECT @@tx_isolation;
SELECT DATABASE();
show databases;
SELECT * FROM INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME='{database}';
SHOW CREATE DATABASE `{database}`;
SHOW CREATE SCHEMA `{database}`;
SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME = '{database}';
SELECT SUM((DATA_LENGTH+INDEX_LENGTH)) as total_size, TABLE_SCHEMA FROM information_schema.TABLES GROUP BY TABLE_SCHEMA;
SHOW FULL TABLES FROM `{database}` LIKE 'orders';
SHOW TABLE STATUS FROM `{database}` WHERE `Name` = 'orders';
SHOW TABLE STATUS FROM `{database}` WHERE Engine IS NOT NULL;
SHOW FULL COLUMNS FROM `{database}`.`orders`;
SHOW FULL COLUMNS FROM `orders` FROM `{database}` WHERE `Key` = 'PRI';
SHOW CREATE VIEW `{database}`.`totals`;
SHOW TRIGGERS FROM `{database}` LIKE 'orders';
SHOW FULL TRIGGERS FROM `{database}`;
SHOW TRIGGERS FROM `{database}` WHERE `Table` = 'orders';
SHOW EVENTS FROM `{database}`;
SHOW EVENTS FROM `{database}` LIKE 'x';
SELECT * FROM information_schema.EVENTS WHERE EVENT_SCHEMA='{database}' ORDER BY EVENT_NAME;
SELECT * FROM INFORMATION_SCHEMA.ROUTINES WHERE ROUTINE_SCHEMA='{database}' AND ROUTINE_TYPE IN ('PROCEDURE','FUNCTION') ORDER BY ROUTINE_NAME;
SHOW PROCEDURE STATUS WHERE Db = '{database}';
SHOW FUNCTION STATUS LIKE 'x%';
SHOW CREATE PROCEDURE `{database}`.`x`; -- 1305
SHOW CREATE FUNCTION `{database}`.`x`; -- 1305
SHOW CREATE TRIGGER `{database}`.`x`; -- 1360
SHOW CREATE EVENT `{database}`.`x`; -- 1539
SELECT * FROM INFORMATION_SCHEMA.PARTITIONS WHERE TABLE_SCHEMA='{database}' AND TABLE_NAME='orders' AND PARTITION_NAME IS NOT NULL ORDER BY PARTITION_ORDINAL_POSITION,SUBPARTITION_ORDINAL_POSITION;
SELECT kc.CONSTRAINT_NAME,kc.TABLE_NAME,kc.COLUMN_NAME,kc.ORDINAL_POSITION FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE kc WHERE kc.TABLE_SCHEMA='{database}' AND kc.REFERENCED_TABLE_NAME IS NULL AND kc.TABLE_NAME='orders' ORDER BY kc.CONSTRAINT_NAME,kc.ORDINAL_POSITION;
SELECT cc.CONSTRAINT_NAME, cc.CHECK_CLAUSE, tc.TABLE_NAME FROM (SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM INFORMATION_SCHEMA.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = '{database}' ORDER BY CONSTRAINT_NAME) cc, (SELECT TABLE_NAME, CONSTRAINT_NAME from INFORMATION_SCHEMA.TABLE_CONSTRAINTS WHERE CONSTRAINT_TYPE = 'CHECK' AND TABLE_SCHEMA='{database}' AND TABLE_NAME='orders') tc WHERE cc.CONSTRAINT_NAME = tc.CONSTRAINT_NAME;
SELECT TABLE_NAME,INDEX_NAME,COLUMN_NAME,SEQ_IN_INDEX,NON_UNIQUE,INDEX_TYPE,COLLATION,CARDINALITY,SUB_PART,NULLABLE,INDEX_COMMENT,COMMENT FROM INFORMATION_SCHEMA.STATISTICS s WHERE s.TABLE_SCHEMA='{database}' AND s.TABLE_NAME='orders' ORDER BY s.INDEX_NAME, s.SEQ_IN_INDEX;
SHOW INDEX FROM orders WHERE Key_name <> 'PRIMARY';
SHOW INDEXES IN `{database}`.orders;
SHOW EXTENDED INDEX FROM orders;
SHOW EXTENDED FULL COLUMNS FROM orders;
SHOW EXTENDED TABLES;
SELECT A.REFERENCED_TABLE_SCHEMA AS PKTABLE_CAT,NULL AS PKTABLE_SCHEM, A.REFERENCED_TABLE_NAME AS PKTABLE_NAME, A.REFERENCED_COLUMN_NAME AS PKCOLUMN_NAME, A.TABLE_SCHEMA AS FKTABLE_CAT, NULL AS FKTABLE_SCHEM, A.TABLE_NAME AS FKTABLE_NAME, A.COLUMN_NAME AS FKCOLUMN_NAME, A.ORDINAL_POSITION AS KEY_SEQ, CASE WHEN R.UPDATE_RULE='CASCADE' THEN 0 WHEN R.UPDATE_RULE='SET NULL' THEN 2 WHEN R.UPDATE_RULE='SET DEFAULT' THEN 4 WHEN R.UPDATE_RULE='RESTRICT' THEN 1 WHEN R.UPDATE_RULE='NO ACTION' THEN 1 ELSE 1 END  AS UPDATE_RULE, A.CONSTRAINT_NAME AS FK_NAME, R.UNIQUE_CONSTRAINT_NAME AS PK_NAME, 7 AS DEFERRABILITY FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE A JOIN INFORMATION_SCHEMA.TABLE_CONSTRAINTS B USING (CONSTRAINT_NAME,TABLE_NAME) JOIN INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS R ON (R.CONSTRAINT_NAME = B.CONSTRAINT_NAME AND R.TABLE_NAME = B.TABLE_NAME AND R.CONSTRAINT_SCHEMA = B.TABLE_SCHEMA) WHERE B.CONSTRAINT_TYPE = 'FOREIGN KEY' AND A.TABLE_SCHEMA = '{database}' AND A.TABLE_NAME = 'orders' ORDER BY A.REFERENCED_TABLE_SCHEMA, A.REFERENCED_TABLE_NAME, A.ORDINAL_POSITION;
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE (TABLE_NAME LIKE '%ord%' ) AND TABLE_SCHEMA='{database}' ORDER BY TABLE_NAME LIMIT 100;
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE COLUMN_NAME LIKE '%id%' LIMIT 100;
SELECT CONSTRAINT_SCHEMA, TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME FROM information_schema.TABLE_CONSTRAINTS LIMIT 10;
SHOW FULL PROCESSLIST;
SELECT * FROM performance_schema.threads LIMIT 10;
SHOW GRANTS FOR 'root'@'%';
SELECT * FROM mysql.user ORDER BY user;
SELECT * FROM mysql.tables_priv ORDER BY user;
SHOW STATUS;
SHOW GLOBAL VARIABLES LIKE '%char%';
EXPLAIN EXTENDED SELECT 1;
EXPLAIN SELECT * FROM orders;
EXPLAIN FORMAT=JSON SELECT * FROM orders WHERE id = 1;
SELECT x.* FROM `{database}`.orders x LIMIT 0, 200;
SELECT COUNT(*) FROM `{database}`.orders;
UPDATE `{database}`.orders SET total=3.5 WHERE id=1;
ANALYZE TABLE orders;
CHECK TABLE orders;
OPTIMIZE TABLE orders;
REPAIR TABLE orders;
CHECKSUM TABLE orders; -- 1235
HELP 'SELECT'; -- 1235
== DataGrip, introspecting
CREATE TABLE orders (id INT NOT NULL PRIMARY KEY AUTO_INCREMENT, total DECIMAL(10,2), v INT GENERATED ALWAYS AS (total + 1) VIRTUAL);
select version(), @@version_comment, database();
SET net_write_timeout=600000;
set session transaction read write;
SELECT @@session.transaction_read_only;
SELECT @@session.transaction_isolation;
select database(), schema(), left(user(),instr(concat(user(),'@'),'@')-1);
select plugin_name from information_schema.plugins;
select engine, support, transactions from information_schema.engines;
select schema_name, default_character_set_name, default_collation_name from information_schema.schemata;
select collation_name, character_set_name, is_default collate utf8_general_ci = 'Yes' as is_default from information_schema.collations;
select table_name, table_type, table_comment, engine, table_collation, create_options, auto_increment from information_schema.tables where table_schema = '{database}';
select ordinal_position, column_name, column_type, column_default, generation_expression, table_name, column_comment, is_nullable, extra, collation_name from information_schema.columns where table_schema = '{database}' order by table_name, ordinal_position;
select distinct table_name, character_set_client, collation_connection, view_definition, definer from information_schema.views where table_schema = '{database}';
select trigger_name, event_object_table, event_manipulation, action_timing, definer from information_schema.triggers where trigger_schema = '{database}';
select event_name, event_comment, definer, event_type = 'RECURRING' recurring, interval_value, interval_field, cast(coalesce(starts, execute_at) as char) starts, cast(ends as char) ends, status, on_completion = 'PRESERVE' preserve, last_executed from information_schema.events where event_schema = '{database}';
select routine_name, routine_type, routine_definition, routine_comment, dtd_identifier, definer, is_deterministic = 'YES' is_deterministic, cast(sql_data_access as char(1)) sql_data_access, cast(security_type as char(1)) security_type from information_schema.routines where routine_schema = '{database}';
select specific_name, ordinal_position, parameter_name, parameter_mode, dtd_identifier from information_schema.parameters where specific_schema = '{database}' and ordinal_position > 0 order by specific_name, ordinal_position;
select table_name, auto_increment from information_schema.tables where table_schema = '{database}' and auto_increment is not null;
select table_name, index_name, non_unique, column_name, sub_part, collation, index_type, index_comment, expression, is_visible from information_schema.statistics where table_schema = '{database}' and index_schema = '{database}' order by index_schema, table_name, index_name, index_type, seq_in_index;
select c.constraint_name, c.constraint_schema, c.table_name, c.constraint_type, false enforced from information_schema.table_constraints c where c.table_schema = '{database}';
select constraint_name, table_name, column_name, referenced_table_schema, referenced_table_name, referenced_column_name from information_schema.key_column_usage where table_schema = '{database}' and referenced_column_name is not null order by table_name, constraint_name, ordinal_position;
select constraint_name, update_rule, delete_rule, table_name from information_schema.referential_constraints where constraint_schema = '{database}';
select tc.table_name, cc.constraint_name, cc.check_clause, tc.enforced from information_schema.check_constraints cc join information_schema.table_constraints tc on tc.constraint_schema = cc.constraint_schema and tc.constraint_name = cc.constraint_name where tc.table_schema = '{database}' and tc.constraint_type = 'CHECK';
select table_name, partition_name, subpartition_name, partition_ordinal_position, partition_method, partition_expression, partition_description from information_schema.partitions where partition_name is not null and table_schema = '{database}';
select grantee, table_name, column_name, privilege_type, is_grantable from information_schema.column_privileges where table_schema = '{database}' union all select grantee, table_name, '' as column_name, privilege_type, is_grantable from information_schema.table_privileges where table_schema = '{database}' order by table_name, grantee, privilege_type;
select user, host, account_locked, password_expired from mysql.user;
select Host, User, Routine_name, Proc_priv, Routine_type = 'PROCEDURE' as is_proc from mysql.procs_priv where Db = '{database}';
select grantee, privilege_type, is_grantable from information_schema.user_privileges order by grantee, privilege_type;
select grantee, table_schema, privilege_type, is_grantable from information_schema.schema_privileges order by table_schema, grantee;
select table_schema, table_name, table_type from information_schema.tables where table_schema collate utf8_general_ci = 'information_schema';
show create table `{database}`.`orders`;
show variables like 'character_set_%';
select user, plugin from mysql.user;
select @@event_scheduler;
select * from performance_schema.variables_by_thread limit 3;
select USER(), CURRENT_USER(), CURRENT_ROLE();
show grants;
select t.* from `{database}`.`orders` t limit 501;
== MySQL Workbench, administration
CREATE TABLE t (id INT PRIMARY KEY, b INT);
SELECT st.* FROM performance_schema.events_statements_current st JOIN performance_schema.threads thr ON thr.thread_id = st.thread_id WHERE thr.processlist_id = CONNECTION_ID();
SELECT st.* FROM performance_schema.events_stages_history_long st WHERE st.nesting_event_id = 1;
SELECT st.* FROM performance_schema.events_waits_history_long st WHERE st.nesting_event_id = 1;
SELECT t.PROCESSLIST_ID,IF (NAME = 'thread/sql/event_scheduler','event_scheduler',t.PROCESSLIST_USER) PROCESSLIST_USER,t.PROCESSLIST_HOST,t.PROCESSLIST_DB,t.PROCESSLIST_COMMAND,t.PROCESSLIST_TIME,t.PROCESSLIST_STATE,t.THREAD_ID,t.TYPE,t.NAME,t.PARENT_THREAD_ID,t.INSTRUMENTED,t.PROCESSLIST_INFO,a.ATTR_VALUE FROM performance_schema.threads t LEFT OUTER JOIN performance_schema.session_connect_attrs a ON t.processlist_id = a.processlist_id AND (a.attr_name IS NULL OR a.attr_name = 'program_name') WHERE 1=1 AND t.TYPE <> 'BACKGROUND';
SELECT * FROM performance_schema.setup_instruments;
SELECT * FROM performance_schema.setup_consumers;
SELECT * FROM performance_schema.setup_timers; -- 1146
SELECT * FROM performance_schema.setup_actors;
SELECT * FROM performance_schema.setup_objects;
SELECT * FROM performance_schema.setup_threads;
SHOW GLOBAL STATUS;
SHOW GLOBAL VARIABLES;
SHOW SESSION VARIABLES LIKE 'version_compile_os';
SHOW VARIABLES LIKE 'datadir';
SHOW VARIABLES LIKE '%general_log%';
SHOW VARIABLES LIKE 'slow_query_log%';
SELECT * FROM mysql.user LIMIT 1;
SELECT Host, User FROM mysql.user ORDER BY User, Host;
SELECT * FROM mysql.db;
SHOW PRIVILEGES;
SHOW BINARY LOGS;
SHOW REPLICAS;
SHOW SLAVE HOSTS;
SHOW COLUMNS FROM `{database}`.`t`;
SHOW INDEXES FROM `{database}`.`t`;
SHOW TABLE STATUS FROM `{database}` LIKE 't';
SHOW TABLE STATUS IN `{database}` WHERE name = 't';
SHOW FULL TABLES FROM `{database}` LIKE 't' ;
SHOW PROCEDURE STATUS WHERE Db='{database}';
SELECT * FROM information_schema.key_column_usage WHERE table_schema = '{database}' AND referenced_table_name IS NOT NULL;
SELECT `id`, `b` FROM `{database}`.`t` LIMIT 0, 1000;
SELECT TRIGGER_NAME, EVENT_MANIPULATION, ACTION_TIMING FROM INFORMATION_SCHEMA.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = '{database}' AND EVENT_OBJECT_TABLE = 't';
SELECT TABLE_NAME, ENGINE, ROW_FORMAT, TABLE_ROWS, AVG_ROW_LENGTH, DATA_LENGTH, MAX_DATA_LENGTH, INDEX_LENGTH, DATA_FREE, AUTO_INCREMENT, CREATE_TIME, UPDATE_TIME, CHECK_TIME, TABLE_COLLATION, CHECKSUM, CREATE_OPTIONS, TABLE_COMMENT FROM information_schema.tables WHERE TABLE_SCHEMA = '{database}';
SELECT * FROM sys.version;
SELECT * FROM sys.session LIMIT 5; -- 1146
SELECT * FROM sys.processlist LIMIT 5; -- 1146
SHOW ENGINE INNODB STATUS;
SHOW PROFILES;
SELECT STATE, ROUND(SUM(DURATION),5) AS `duration (summed) in sec` FROM information_schema.profiling WHERE QUERY_ID = 1 GROUP BY STATE ORDER BY `duration (summed) in sec` DESC;
SET SESSION TRANSACTION READ ONLY;
SET SESSION TRANSACTION READ WRITE;
SHOW SESSION STATUS LIKE 'Handler%';
FLUSH STATUS;
SHOW COUNT(*) WARNINGS;
SHOW COUNT(*) ERRORS;
SHOW WARNINGS LIMIT 1;
SHOW WARNINGS LIMIT 0, 10;
SHOW ERRORS LIMIT 1;
SELECT @@warning_count, @@error_count;
== mydumper
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, b INT, KEY (b));
INSERT INTO t VALUES (1, 2), (3, 4), (100, 5);
SET SESSION wait_timeout = 2147483;
SET SESSION net_write_timeout = 2147483;
SET NAMES utf8mb4;
SELECT @@version_comment, @@version;
SHOW GLOBAL STATUS LIKE 'Threads_running';
SHOW PROCESSLIST;
LOCK INSTANCE FOR BACKUP; -- 1235
UNLOCK INSTANCE;
FLUSH TABLES WITH READ LOCK; -- 1235
FLUSH NO_WRITE_TO_BINLOG TABLES;
START TRANSACTION /*!40108 WITH CONSISTENT SNAPSHOT */; -- 1235
START TRANSACTION;
SHOW MASTER STATUS;
SHOW BINARY LOG STATUS;
SHOW SLAVE STATUS;
SHOW REPLICA STATUS;
SELECT @@gtid_mode;
UNLOCK TABLES;
SHOW DATABASES;
SHOW TABLE STATUS;
SELECT TABLE_NAME, ENGINE, TABLE_TYPE as COMMENT, TABLE_COLLATION, AVG_ROW_LENGTH, DATA_LENGTH FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA='{database}';
SHOW INDEX FROM `{database}`.`t`;
SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='{database}' AND TABLE_NAME='t' AND extra LIKE '%GENERATED%' AND extra NOT LIKE '%DEFAULT_GENERATED%' ORDER BY ORDINAL_POSITION ASC;
select column_type from INFORMATION_SCHEMA.COLUMNS where table_schema='{database}' and table_name='t' and column_name='id';
SELECT /*!40001 SQL_NO_CACHE */ LEFT(MIN(`id`),1),LEFT(MAX(`id`),1) FROM `{database}`.`t`;
SELECT SQL_NO_CACHE MIN(`id`),MAX(`id`),LEFT(MIN(`id`),50),LEFT(MAX(`id`),50) FROM `{database}`.`t`;
EXPLAIN SELECT `id` FROM `{database}`.`t`;
EXPLAIN SELECT COUNT(*) FROM `{database}`.`t` WHERE `id` >= 1 AND `id` < 50;
SELECT /*!40001 SQL_NO_CACHE */ * FROM `{database}`.`t` WHERE (`id` IS NULL OR `id` < 50) ORDER BY `id`;
select `id` from `{database}`.`t` where `id` between 1 and 3;
SHOW CREATE DATABASE IF NOT EXISTS `{database}`;
SHOW CREATE TABLE `{database}`.`t`;
SHOW TRIGGERS FROM `{database}` LIKE 't';
SHOW FIELDS FROM `{database}`.`t`;
SHOW PROCEDURE STATUS WHERE CAST(Db AS BINARY) = '{database}';
SHOW FUNCTION STATUS WHERE CAST(Db AS BINARY) = '{database}';
SHOW EVENTS FROM `{database}`;
SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{database}' AND table_name = 't';
SELECT lower(COALESCE(GROUP_CONCAT(CONCAT('`', column_name, '`') ORDER BY ORDINAL_POSITION ASC), '')) FROM information_schema.columns WHERE table_schema = '{database}' AND table_name = 't';
SELECT COALESCE(LOWER(CONV(BIT_XOR(CAST(CRC32(CONCAT_WS('#', `id`, `b`, CONCAT(ISNULL(`b`)))) AS UNSIGNED)), 10, 16)), 0) AS crc FROM `{database}`.`t`;
SELECT COUNT(*) AS cnt, COALESCE(LOWER(CONV(BIT_XOR(CAST(CRC32(CONCAT_WS(column_name, ordinal_position, data_type)) AS UNSIGNED)), 10, 16)), 0) AS crc FROM information_schema.columns WHERE table_schema='{database}' AND table_name='t';
COMMIT;
== GORM
SELECT VERSION();
SELECT DATABASE();
SELECT SCHEMA_NAME from Information_schema.SCHEMATA where SCHEMA_NAME LIKE '{database}%' ORDER BY SCHEMA_NAME='{database}' DESC,SCHEMA_NAME limit 1;
SELECT count(*) FROM information_schema.tables WHERE table_schema = '{database}' AND table_name = 'products' AND table_type = 'BASE TABLE';
CREATE TABLE `products` (`id` bigint unsigned AUTO_INCREMENT,`created_at` datetime(3) NULL,`deleted_at` datetime(3) NULL,`code` longtext,`price` bigint unsigned,`name` varchar(191),PRIMARY KEY (`id`),INDEX `idx_products_deleted_at` (`deleted_at`),CONSTRAINT `uni_products_name` UNIQUE (`name`));
SELECT column_name, column_default, is_nullable = 'YES', data_type, character_maximum_length, column_type, column_key, extra, column_comment, numeric_precision, numeric_scale , datetime_precision FROM information_schema.columns WHERE table_schema = '{database}' AND table_name = 'products' ORDER BY ORDINAL_POSITION;
SELECT * FROM `products` LIMIT 1;
SELECT TABLE_NAME, COLUMN_NAME, INDEX_NAME, NON_UNIQUE FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = '{database}' AND TABLE_NAME = 'products' ORDER BY INDEX_NAME, SEQ_IN_INDEX;
SELECT count(*) FROM INFORMATION_SCHEMA.table_constraints WHERE constraint_schema = '{database}' AND table_name = 'products' AND constraint_name = 'uni_products_name';
SELECT count(*) FROM information_schema.statistics WHERE table_schema = '{database}' AND table_name = 'products' AND index_name = 'idx_products_deleted_at';
SELECT count(*) FROM INFORMATION_SCHEMA.columns WHERE table_schema = '{database}' AND table_name = 'products' AND column_name = 'x';
ALTER TABLE `products` ADD `x` longtext;
ALTER TABLE `products` MODIFY COLUMN `price` decimal(10,2) NOT NULL DEFAULT 0 COMMENT 'p';
ALTER TABLE `products` ADD CONSTRAINT `uni_products_x` UNIQUE (`price`,`name`);
SELECT * FROM `products` WHERE `products`.`id` = 10 AND `products`.`deleted_at` IS NULL ORDER BY `products`.`id` LIMIT 1;
UPDATE `products` SET `deleted_at`='2024-01-01 10:00:00' WHERE `products`.`id` = 1 AND `products`.`deleted_at` IS NULL;
INSERT INTO `products` (`code`,`price`,`name`) VALUES ('a',100,'n') ON DUPLICATE KEY UPDATE `price`=VALUES(`price`);
SET FOREIGN_KEY_CHECKS = 0;
DROP TABLE IF EXISTS `products` CASCADE;
SET FOREIGN_KEY_CHECKS = 1;
== Doctrine
CREATE TABLE product (id INT AUTO_INCREMENT NOT NULL, name VARCHAR(255) NOT NULL, guid CHAR(36) NOT NULL COMMENT '(DC2Type:guid)', roles LONGTEXT NOT NULL COMMENT '(DC2Type:array)', at DATETIME NOT NULL COMMENT '(DC2Type:datetime_immutable)', INDEX IDX_A (name), UNIQUE INDEX UNIQ_B (guid), PRIMARY KEY(id)) DEFAULT CHARACTER SET utf8mb4 COLLATE `utf8mb4_unicode_ci` ENGINE = InnoDB;
CREATE TABLE messenger_messages (id BIGINT AUTO_INCREMENT NOT NULL, body LONGTEXT NOT NULL, headers LONGTEXT NOT NULL, queue_name VARCHAR(190) NOT NULL, created_at DATETIME NOT NULL, available_at DATETIME NOT NULL, delivered_at DATETIME DEFAULT NULL, INDEX IDX_75EA56E0FB7336F0 (queue_name), INDEX IDX_75EA56E0E3BD61CE (available_at), PRIMARY KEY(id)) DEFAULT CHARACTER SET utf8mb4 COLLATE `utf8mb4_unicode_ci` ENGINE = InnoDB;
SELECT DATABASE();
SHOW FULL TABLES WHERE Table_type = 'BASE TABLE';
SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{database}' AND TABLE_TYPE = 'BASE TABLE' ORDER BY TABLE_NAME;
SELECT c.TABLE_NAME, c.COLUMN_NAME AS field, IF( c.COLUMN_TYPE = 'longtext' AND EXISTS( SELECT * FROM information_schema.CHECK_CONSTRAINTS i_c WHERE i_c.CONSTRAINT_SCHEMA = '{database}' AND i_c.CONSTRAINT_NAME = c.COLUMN_NAME ), 'json', c.COLUMN_TYPE ) AS type, c.IS_NULLABLE AS `null`, c.COLUMN_KEY AS `key`, c.COLUMN_DEFAULT AS `default`, c.EXTRA, c.COLUMN_COMMENT AS comment, c.CHARACTER_SET_NAME AS characterset, c.COLLATION_NAME AS collation FROM information_schema.COLUMNS c INNER JOIN information_schema.TABLES t ON t.TABLE_NAME = c.TABLE_NAME WHERE c.TABLE_SCHEMA = '{database}' AND t.TABLE_SCHEMA = '{database}' AND t.TABLE_TYPE = 'BASE TABLE' ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION;
SELECT TABLE_NAME, NON_UNIQUE AS Non_Unique, INDEX_NAME AS Key_name, COLUMN_NAME AS Column_Name, SUB_PART AS Sub_Part, INDEX_TYPE AS Index_Type FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = '{database}' ORDER BY TABLE_NAME, SEQ_IN_INDEX;
SELECT DISTINCT k.TABLE_NAME, k.CONSTRAINT_NAME, k.COLUMN_NAME, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME, k.ORDINAL_POSITION /*!50116, c.UPDATE_RULE, c.DELETE_RULE */ FROM information_schema.key_column_usage k /*!50116 INNER JOIN information_schema.referential_constraints c ON c.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND c.TABLE_NAME = k.TABLE_NAME */ WHERE k.TABLE_SCHEMA = '{database}' /*!50116 AND c.CONSTRAINT_SCHEMA = '{database}' */ AND k.REFERENCED_COLUMN_NAME IS NOT NULL ORDER BY k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION;
SELECT t.TABLE_NAME, t.ENGINE, t.AUTO_INCREMENT, t.TABLE_COMMENT, t.CREATE_OPTIONS, t.TABLE_COLLATION, ccsa.CHARACTER_SET_NAME FROM information_schema.TABLES t INNER JOIN information_schema.COLLATION_CHARACTER_SET_APPLICABILITY ccsa ON ccsa.COLLATION_NAME = t.TABLE_COLLATION WHERE t.TABLE_SCHEMA = '{database}' AND t.TABLE_TYPE = 'BASE TABLE';
SELECT COLLATION_NAME FROM information_schema.COLLATIONS WHERE CHARACTER_SET_NAME = 'utf8mb4' AND IS_DEFAULT = 'Yes';
SELECT @@character_set_database, @@collation_database;
SELECT m.* FROM messenger_messages m WHERE (m.queue_name = 'default') AND (m.delivered_at is null OR m.delivered_at < '2024-01-01 00:00:00') AND (m.available_at <= '2024-01-01 00:00:00') ORDER BY available_at ASC LIMIT 1 FOR UPDATE SKIP LOCKED;
SELECT COUNT(*) AS dctrn_count FROM (SELECT DISTINCT id_0 FROM (SELECT p0_.id AS id_0, p0_.name AS name_1 FROM product p0_) dctrn_result) dctrn_table;
SELECT DISTINCT id_0 FROM (SELECT DISTINCT id_0, name_1 FROM (SELECT p0_.id AS id_0, p0_.name AS name_1 FROM product p0_) dctrn_result_inner ORDER BY name_1 ASC) dctrn_result LIMIT 10;
ALTER TABLE product CHANGE name name VARCHAR(100) DEFAULT NULL, ADD price NUMERIC(10, 2) DEFAULT '0' NOT NULL, DROP roles;
DROP INDEX IDX_A ON product;
CREATE INDEX IDX_C ON product (name(20));
== Entity Framework
SELECT @@sql_mode;
SELECT @@version;
SELECT '1' FROM `INFORMATION_SCHEMA`.`SCHEMATA` WHERE `SCHEMA_NAME`='{database}';
SELECT CASE WHEN COUNT(*) = 0 THEN FALSE ELSE TRUE END FROM `information_schema`.`tables` WHERE `table_type` = 'BASE TABLE' AND `table_schema` = '{database}';
SELECT 1 FROM information_schema.tables WHERE table_name='__EFMigrationsHistory' AND table_schema='{database}';
CREATE TABLE `__EFMigrationsHistory` (`MigrationId` varchar(150) CHARACTER SET utf8mb4 NOT NULL, `ProductVersion` varchar(32) CHARACTER SET utf8mb4 NOT NULL, CONSTRAINT `PK___EFMigrationsHistory` PRIMARY KEY (`MigrationId`)) CHARACTER SET=utf8mb4;
ALTER DATABASE CHARACTER SET utf8mb4;
CREATE TABLE `Blogs` (`BlogId` int NOT NULL AUTO_INCREMENT, `Url` longtext CHARACTER SET utf8mb4 NULL, `Id2` char(36) COLLATE ascii_general_ci NOT NULL, `RowVersion` timestamp(6) NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), CONSTRAINT `PK_Blogs` PRIMARY KEY (`BlogId`)) CHARACTER SET=utf8mb4;
SELECT `MigrationId`, `ProductVersion` FROM `__EFMigrationsHistory` ORDER BY `MigrationId`;
INSERT INTO `Blogs` (`Url`, `Id2`) VALUES ('x', UUID()); SELECT `BlogId` FROM `Blogs` WHERE ROW_COUNT() = 1 AND `BlogId` = LAST_INSERT_ID(); -- 1064
SELECT `BlogId` FROM `Blogs` WHERE ROW_COUNT() = 1 AND `BlogId` = LAST_INSERT_ID();
SELECT `b`.`BlogId`, (SELECT COUNT(*) FROM `Blogs` AS `p` WHERE `b`.`BlogId` = `p`.`BlogId`) AS `C` FROM `Blogs` AS `b` WHERE LOCATE('x', `b`.`Url`) > 0 ORDER BY `b`.`BlogId` LIMIT 10 OFFSET 2;
SELECT `t`.`BlogId`, `t0`.`Url` FROM (SELECT `b`.`BlogId` FROM `Blogs` AS `b` LIMIT 2) AS `t` LEFT JOIN LATERAL (SELECT `c`.`Url` FROM `Blogs` AS `c` WHERE `c`.`BlogId` = `t`.`BlogId` LIMIT 1) AS `t0` ON TRUE;
SELECT `t`.`TABLE_NAME`, `t`.`TABLE_TYPE`, IF(`t`.`TABLE_COMMENT` = 'VIEW' AND `t`.`TABLE_TYPE` = 'VIEW', '', `t`.`TABLE_COMMENT`) AS `TABLE_COMMENT`, `ccsa`.`CHARACTER_SET_NAME` as `TABLE_CHARACTER_SET`, `t`.`TABLE_COLLATION` FROM `INFORMATION_SCHEMA`.`TABLES` as `t` LEFT JOIN `INFORMATION_SCHEMA`.`COLLATION_CHARACTER_SET_APPLICABILITY` as `ccsa` ON `ccsa`.`COLLATION_NAME` = `t`.`TABLE_COLLATION` WHERE TABLE_SCHEMA = SCHEMA() AND TABLE_TYPE IN ('BASE TABLE', 'VIEW');
SELECT `COLUMN_NAME`, `ORDINAL_POSITION`, `COLUMN_DEFAULT`, IF(`IS_NULLABLE` = 'YES', 1, 0) as `NULL`, `DATA_TYPE`, `CHARACTER_SET_NAME`, `COLLATION_NAME`, `COLUMN_TYPE`, `COLUMN_COMMENT`, `EXTRA`, `GENERATION_EXPRESSION`, NULL as `SRS_ID` FROM `INFORMATION_SCHEMA`.`COLUMNS` WHERE `TABLE_SCHEMA` = SCHEMA() AND `TABLE_NAME` = 'Blogs' ORDER BY `ORDINAL_POSITION`;
SELECT `INDEX_NAME`, GROUP_CONCAT(`COLUMN_NAME` ORDER BY `SEQ_IN_INDEX` SEPARATOR ',') AS COLUMNS FROM `INFORMATION_SCHEMA`.`STATISTICS` WHERE `TABLE_SCHEMA` = '{database}' AND `TABLE_NAME` = 'Blogs' AND `INDEX_NAME` = 'PRIMARY' GROUP BY `INDEX_NAME`;
SELECT `INDEX_NAME`, `NON_UNIQUE`, GROUP_CONCAT(`COLUMN_NAME` ORDER BY `SEQ_IN_INDEX` SEPARATOR ',') AS `COLUMNS`, GROUP_CONCAT(IFNULL(`SUB_PART`, 0) ORDER BY `SEQ_IN_INDEX` SEPARATOR ',') AS `SUB_PARTS`, `INDEX_TYPE`, GROUP_CONCAT(`COLLATION` ORDER BY `SEQ_IN_INDEX` SEPARATOR ',') AS `COLLATION` FROM `INFORMATION_SCHEMA`.`STATISTICS` WHERE `TABLE_SCHEMA` = '{database}' AND `TABLE_NAME` = 'Blogs' AND `INDEX_NAME` <> 'PRIMARY' AND `COLUMN_NAME` IS NOT NULL GROUP BY `INDEX_NAME`, `NON_UNIQUE`, `INDEX_TYPE`;
SELECT `CONSTRAINT_NAME`, `TABLE_NAME`, `REFERENCED_TABLE_NAME`, GROUP_CONCAT(CONCAT_WS('|', `COLUMN_NAME`, `REFERENCED_COLUMN_NAME`) ORDER BY `ORDINAL_POSITION` SEPARATOR ',') AS PAIRED_COLUMNS, (SELECT `DELETE_RULE` FROM `INFORMATION_SCHEMA`.`REFERENTIAL_CONSTRAINTS` WHERE `REFERENTIAL_CONSTRAINTS`.`CONSTRAINT_NAME` = `KEY_COLUMN_USAGE`.`CONSTRAINT_NAME` AND `REFERENTIAL_CONSTRAINTS`.`CONSTRAINT_SCHEMA` = `KEY_COLUMN_USAGE`.`CONSTRAINT_SCHEMA`) AS `DELETE_RULE` FROM `INFORMATION_SCHEMA`.`KEY_COLUMN_USAGE` WHERE `TABLE_SCHEMA` = '{database}' AND `TABLE_NAME` = 'Blogs' AND `CONSTRAINT_NAME` <> 'PRIMARY' AND `REFERENCED_TABLE_NAME` IS NOT NULL GROUP BY `CONSTRAINT_SCHEMA`, `CONSTRAINT_NAME`, `TABLE_NAME`, `REFERENCED_TABLE_NAME`;
SELECT * FROM INFORMATION_SCHEMA.KEYWORDS;
SELECT GET_LOCK('__{database}_EFMigrationsLock', 60);
SELECT RELEASE_LOCK('__{database}_EFMigrationsLock');
CREATE PROCEDURE p() BEGIN SELECT 1; END; -- 1235
DROP PROCEDURE IF EXISTS `POMELO_BEFORE_DROP_PRIMARY_KEY`;
== Drizzle
select * from INFORMATION_SCHEMA.COLUMNS where table_schema = '{database}' and table_name != '__drizzle_migrations' order by table_name, ordinal_position;
SELECT table_name, column_name FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS t LEFT JOIN INFORMATION_SCHEMA.KEY_COLUMN_USAGE k USING(constraint_name,table_schema,table_name) WHERE t.constraint_type='PRIMARY KEY' and table_name != '__drizzle_migrations' AND t.table_schema = '{database}' ORDER BY ordinal_position;
SELECT kcu.TABLE_SCHEMA, kcu.TABLE_NAME, kcu.CONSTRAINT_NAME, kcu.COLUMN_NAME, kcu.REFERENCED_TABLE_SCHEMA, kcu.REFERENCED_TABLE_NAME, kcu.REFERENCED_COLUMN_NAME, rc.UPDATE_RULE, rc.DELETE_RULE FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE kcu LEFT JOIN information_schema.referential_constraints rc ON kcu.CONSTRAINT_NAME = rc.CONSTRAINT_NAME WHERE kcu.TABLE_SCHEMA = '{database}' AND kcu.CONSTRAINT_NAME != 'PRIMARY' AND kcu.REFERENCED_TABLE_NAME IS NOT NULL;
select * from INFORMATION_SCHEMA.STATISTICS WHERE INFORMATION_SCHEMA.STATISTICS.TABLE_SCHEMA = '{database}' and INFORMATION_SCHEMA.STATISTICS.INDEX_NAME != 'PRIMARY';
select * from INFORMATION_SCHEMA.VIEWS WHERE table_schema = '{database}';
SELECT tc.table_name, tc.constraint_name, cc.check_clause FROM information_schema.table_constraints tc JOIN information_schema.check_constraints cc ON tc.constraint_name = cc.constraint_name WHERE tc.constraint_schema = '{database}' AND tc.constraint_type = 'CHECK';
create table if not exists `__drizzle_migrations` ( id serial primary key, hash text not null, created_at bigint );
select id, hash, created_at from `__drizzle_migrations` order by created_at desc limit 1;
== Atlas and Ent
SELECT @@version, @@collation_server, @@character_set_server, @@lower_case_table_names;
SELECT `SCHEMA_NAME`, `DEFAULT_CHARACTER_SET_NAME`, `DEFAULT_COLLATION_NAME` from `INFORMATION_SCHEMA`.`SCHEMATA` WHERE `SCHEMA_NAME` = (SELECT DATABASE());
SELECT `t1`.`TABLE_SCHEMA`, `t1`.`TABLE_NAME`, `t2`.`CHARACTER_SET_NAME`, `t1`.`TABLE_COLLATION`, `t1`.`AUTO_INCREMENT`, `t1`.`TABLE_COMMENT`, `t1`.`CREATE_OPTIONS`, `t1`.`ENGINE`, `t3`.`SUPPORT` = 'DEFAULT' AS `DEFAULT_ENGINE` FROM `INFORMATION_SCHEMA`.`TABLES` AS `t1` LEFT JOIN `INFORMATION_SCHEMA`.`COLLATIONS` AS `t2` ON `t1`.`TABLE_COLLATION` = `t2`.`COLLATION_NAME` LEFT JOIN `INFORMATION_SCHEMA`.`ENGINES` AS `t3` ON `t1`.`ENGINE` = `t3`.`ENGINE` WHERE `TABLE_SCHEMA` IN ('{database}') AND `TABLE_TYPE` = 'BASE TABLE' ORDER BY `TABLE_SCHEMA`, `TABLE_NAME`;
SELECT `TABLE_NAME`, `COLUMN_NAME`, `COLUMN_TYPE`, `COLUMN_COMMENT`, `IS_NULLABLE`, `COLUMN_KEY`, `COLUMN_DEFAULT`, `EXTRA`, `CHARACTER_SET_NAME`, `COLLATION_NAME`, `GENERATION_EXPRESSION` FROM `INFORMATION_SCHEMA`.`COLUMNS` WHERE `TABLE_SCHEMA` = '{database}' AND `TABLE_NAME` IN ('a', 'b') ORDER BY `ORDINAL_POSITION`;
SELECT `TABLE_NAME`, `INDEX_NAME`, `COLUMN_NAME`, `NON_UNIQUE`, `SEQ_IN_INDEX`, `INDEX_TYPE`, `COLLATION`, `INDEX_COMMENT`, `SUB_PART`, `EXPRESSION` FROM `INFORMATION_SCHEMA`.`STATISTICS` WHERE `TABLE_SCHEMA` = '{database}' AND `TABLE_NAME` IN ('a') ORDER BY `index_name`, `seq_in_index`;
SELECT `t1`.`CONSTRAINT_NAME`, `t1`.`TABLE_NAME`, `t1`.`COLUMN_NAME`, `t1`.`TABLE_SCHEMA`, `t1`.`REFERENCED_TABLE_NAME`, `t1`.`REFERENCED_COLUMN_NAME`, `t1`.`REFERENCED_TABLE_SCHEMA`, `t3`.`UPDATE_RULE`, `t3`.`DELETE_RULE` FROM `INFORMATION_SCHEMA`.`KEY_COLUMN_USAGE` AS `t1` JOIN `INFORMATION_SCHEMA`.`TABLE_CONSTRAINTS` AS `t2` JOIN `INFORMATION_SCHEMA`.`REFERENTIAL_CONSTRAINTS` AS `t3` ON `t1`.`CONSTRAINT_NAME` = `t2`.`CONSTRAINT_NAME` AND `t1`.`CONSTRAINT_NAME` = `t3`.`CONSTRAINT_NAME` AND `t1`.`TABLE_SCHEMA` = `t2`.`TABLE_SCHEMA` AND `t1`.`TABLE_SCHEMA` = `t3`.`CONSTRAINT_SCHEMA` WHERE `t2`.`CONSTRAINT_TYPE` = 'FOREIGN KEY' AND `t1`.`TABLE_SCHEMA` = '{database}' AND `t1`.`TABLE_NAME` IN ('a') ORDER BY BINARY `t1`.`TABLE_NAME`, BINARY `t1`.`CONSTRAINT_NAME`, `t1`.`ORDINAL_POSITION`;
SELECT `t1`.`CONSTRAINT_NAME`, `t1`.`CHECK_CLAUSE`, `t2`.`TABLE_NAME`, `t2`.`ENFORCED` FROM `INFORMATION_SCHEMA`.`CHECK_CONSTRAINTS` AS `t1` JOIN `INFORMATION_SCHEMA`.`TABLE_CONSTRAINTS` AS `t2` ON `t1`.`CONSTRAINT_NAME` = `t2`.`CONSTRAINT_NAME` AND `t1`.`CONSTRAINT_SCHEMA` = `t2`.`CONSTRAINT_SCHEMA` WHERE `t1`.`CONSTRAINT_SCHEMA` = '{database}' ORDER BY BINARY `t2`.`TABLE_NAME`, BINARY `t1`.`CONSTRAINT_NAME`;
SHOW VARIABLES LIKE 'version';
SHOW CREATE TABLE `nothing`; -- 1146
== Flyway and Liquibase
SELECT VERSION();
SELECT DATABASE();
SELECT @@foreign_key_checks, @@sql_safe_updates, @@character_set_results, @@autocommit;
SELECT VARIABLE_NAME FROM performance_schema.user_variables_by_thread WHERE variable_value IS NOT NULL;
SELECT CONNECTION_ID();
SELECT SUBSTRING_INDEX(USER(),'@',1);
SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '{database}' LIMIT 1;
SELECT EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema='{database}' AND table_name='flyway_schema_history' LIMIT 1);
SELECT (SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{database}' LIMIT 1) + (SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = '{database}' LIMIT 1) + (SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = '{database}' LIMIT 1) + (SELECT COUNT(*) FROM information_schema.events WHERE event_schema = '{database}' LIMIT 1);
CREATE TABLE `{database}`.`flyway_schema_history` (`installed_rank` INT NOT NULL, `version` VARCHAR(50), `description` VARCHAR(200) NOT NULL, `type` VARCHAR(20) NOT NULL, `script` VARCHAR(1000) NOT NULL, `checksum` INT, `installed_by` VARCHAR(100) NOT NULL, `installed_on` TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, `execution_time` INT NOT NULL, `success` BOOL NOT NULL, CONSTRAINT PRIMARY KEY (`installed_rank`)) AS SELECT 1 as "installed_rank", '1' as "version", '<< Flyway Baseline >>' as "description", 'BASELINE' as "type", '<< Flyway Baseline >>' as "script", NULL as "checksum", 'root' as "installed_by", CURRENT_TIMESTAMP as "installed_on", 0 as "execution_time", TRUE as "success";
CREATE INDEX `flyway_schema_history_s_idx` ON `{database}`.`flyway_schema_history` (`success`);
SELECT `installed_rank`,`version`,`description`,`type`,`script`,`checksum`,`installed_on`,`installed_by`,`execution_time`,`success` FROM `{database}`.`flyway_schema_history` WHERE `installed_rank` > -1 ORDER BY `installed_rank`;
SELECT GET_LOCK('Flyway-1388', 10);
SELECT RELEASE_LOCK('Flyway-1388');
SELECT table_name FROM information_schema.views WHERE table_schema='{database}';
SELECT routine_name as 'N', routine_type as 'T' FROM information_schema.routines WHERE routine_schema='{database}' AND routine_type IN ('PROCEDURE', 'FUNCTION');
select @@sql_mode;
SELECT `VARIABLE_VALUE` FROM performance_schema.global_variables WHERE VARIABLE_NAME = 'version';
SELECT CONSTRAINT_NAME, CONSTRAINT_NAME, TABLE_NAME FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = '{database}' AND CONSTRAINT_TYPE = 'UNIQUE';
SELECT TC.TABLE_NAME, GROUP_CONCAT(KCU.COLUMN_NAME ORDER BY KCU.ORDINAL_POSITION), TC.CONSTRAINT_NAME FROM information_schema.table_constraints TC INNER JOIN information_schema.key_column_usage KCU ON TC.CONSTRAINT_NAME = KCU.CONSTRAINT_NAME AND TC.CONSTRAINT_SCHEMA = KCU.CONSTRAINT_SCHEMA AND TC.TABLE_NAME = KCU.TABLE_NAME WHERE TC.CONSTRAINT_TYPE = 'UNIQUE' AND TC.CONSTRAINT_SCHEMA = '{database}' GROUP BY TC.TABLE_NAME, TC.CONSTRAINT_NAME;
SHOW CREATE TABLE `flyway_schema_history`;
== Hibernate 6
create table Author (id bigint not null, name varchar(255), version integer not null, born date, salary decimal(38,2), gender tinyint check (gender between 0 and 1), status enum ('ACTIVE','RETIRED'), uid binary(16), flag bit, at datetime(6), at_zone timestamp(6), primary key (id)) engine=InnoDB;
create table Book (id bigint not null auto_increment, author_id bigint, title varchar(255) not null, pages integer, primary key (id)) engine=InnoDB;
create table hibernate_sequence (next_val bigint) engine=InnoDB;
insert into hibernate_sequence values ( 1 );
alter table Book add constraint UKtitle unique (title);
select next_val as id_val from hibernate_sequence for update;
update hibernate_sequence set next_val= 51 where next_val=1;
insert into Author (born,flag,name,salary,status,version,id,uid) values ('2000-01-01',1,'A',1.5,'ACTIVE',0,1,x'00112233445566778899aabbccddeeff');
insert into Book (author_id,pages,title) values (1,100,'T');
select a1_0.id,a1_0.name,b1_0.author_id,b1_0.id,b1_0.title from Author a1_0 left join Book b1_0 on a1_0.id=b1_0.author_id where a1_0.id=1;
select b1_0.id,b1_0.title from Book b1_0 where b1_0.title like '%t%' escape '' order by b1_0.title limit 0,10;
select count(b1_0.id) from Book b1_0 where (select count(a1_0.id) from Author a1_0 where a1_0.id=b1_0.author_id)>0;
update Author set name='B',version=1 where id=1 and version=0;
select a1_0.id from Author a1_0 where a1_0.id=1 for update of a1_0;
select a1_0.id from Author a1_0 where a1_0.id=1 for share of a1_0 skip locked;
delete b1_0 from Book b1_0 where b1_0.pages>1000;
delete from Book where id in (select b2.id from Book b2 where b2.pages > 1000);
update Book b1_0 set b1_0.pages=b1_0.pages+1 where b1_0.author_id in (select a1_0.id from Author a1_0 where a1_0.name='A');
insert into Book(author_id, title) select a1_0.id, concat(a1_0.name, 'x') from Author a1_0;
with cte as (select a1_0.id, row_number() over(order by a1_0.id) as rn from Author a1_0) select cte.id from cte where cte.rn<=2;
select timestampdiff(day,a1_0.born,current_date()), extract(year from a1_0.born), cast(a1_0.salary as char), date_format(a1_0.born,'%Y'), str_to_date('2020','%Y') from Author a1_0;
select a1_0.name, group_concat(b1_0.title order by b1_0.title asc separator ',') from Author a1_0 join Book b1_0 on b1_0.author_id=a1_0.id group by a1_0.name having count(*)>0;
(select id from Author) union all (select id from Book) order by 1 limit 3;
select distinct a1_0.id, (select max(b1_0.pages) from Book b1_0 where b1_0.author_id=a1_0.id) from Author a1_0 where exists (select 1 from Book b1_0 where a1_0.id=b1_0.author_id) and a1_0.id not in (select coalesce(b.author_id, 0) from Book b where b.pages is null);
select a1_0.id from Author a1_0 join lateral (select b1_0.pages from Book b1_0 where b1_0.author_id=a1_0.id order by b1_0.pages desc limit 1) l1_0 on true;
create temporary table HT_Author (id bigint not null, primary key (id)) engine=InnoDB;
drop temporary table HT_Author;
select * from information_schema.sequences; -- 1109
alter table Author modify column status enum ('ACTIVE','RETIRED','DEAD');
alter table Book drop index UKtitle;
set foreign_key_checks = 0;
drop table if exists Author;
set foreign_key_checks = 1;
== Debezium
SHOW GLOBAL VARIABLES LIKE 'log_bin';
SHOW GLOBAL VARIABLES LIKE 'binlog_format';
SHOW GLOBAL VARIABLES LIKE 'binlog_row_image';
SHOW VARIABLES WHERE Variable_name NOT IN ('ssl_cipher') AND Variable_name = 'version';
SHOW GLOBAL VARIABLES WHERE Variable_name LIKE 'gtid_mode';
SHOW MASTER STATUS;
SHOW BINARY LOGS;
SHOW FULL TABLES IN `{database}` where Table_Type = 'BASE TABLE';
SHOW GRANTS FOR CURRENT_USER;
SELECT @@system_time_zone;
FLUSH TABLES `{database}`.`x` WITH READ LOCK; -- 1235
SHOW CREATE TABLE `mysql`.`user`;
SET SESSION lock_wait_timeout=10;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
== Connector/NET and ODBC
SET NAMES utf8mb4; -- 0
SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP());
SHOW VARIABLES;
SHOW COLLATION;
SELECT * FROM information_schema.character_sets;
SELECT DATABASE();
SET sql_select_limit=DEFAULT;
SET SQL_AUTO_IS_NULL=0;
SELECT TABLE_CATALOG, TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, VERSION, ROW_FORMAT, TABLE_ROWS FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA LIKE '{database}' AND TABLE_TYPE LIKE 'BASE TABLE';
SELECT TABLE_NAME,TABLE_COMMENT,IF(TABLE_TYPE='BASE TABLE', 'TABLE', TABLE_TYPE),TABLE_SCHEMA FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA LIKE '{database}' AND ( TABLE_TYPE='BASE TABLE' OR TABLE_TYPE='VIEW' ) ORDER BY TABLE_SCHEMA, TABLE_NAME;
SHOW KEYS FROM `nothing`; -- 1146
SELECT * FROM INFORMATION_SCHEMA.RESERVED_WORDS; -- 1109
SELECT word FROM INFORMATION_SCHEMA.KEYWORDS WHERE reserved = 1 ORDER BY word;
select connection_id(), @@session.auto_increment_increment;
SELECT NULL AS PROCEDURE_CAT, ROUTINE_SCHEMA AS PROCEDURE_SCHEM, ROUTINE_NAME AS PROCEDURE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE();
SELECT * FROM information_schema.profiling;
kill query 4294967295; -- 1094
== HeidiSQL, editing
CREATE TABLE t (id INT PRIMARY KEY, b VARCHAR(10));
SHOW CREATE TABLE `{database}`.`t`;
SELECT tc.CONSTRAINT_NAME, cc.CHECK_CLAUSE FROM `information_schema`.`CHECK_CONSTRAINTS` AS cc, `information_schema`.`TABLE_CONSTRAINTS` AS tc WHERE tc.CONSTRAINT_SCHEMA='{database}' AND tc.TABLE_NAME='t' AND tc.CONSTRAINT_TYPE='CHECK' AND tc.CONSTRAINT_SCHEMA=cc.CONSTRAINT_SCHEMA AND tc.CONSTRAINT_NAME=cc.CONSTRAINT_NAME;
SHOW INDEXES FROM `t` FROM `{database}`;
SELECT `id`, LEFT(`b`, 256) FROM `{database}`.`t` LIMIT 1000;
SHOW GLOBAL STATUS LIKE 'Com\_%';
SHOW FULL PROCESSLIST;
SELECT `user`, `host`, IF(LENGTH(authentication_string)>0, 'y', 'n') AS has_pw FROM `mysql`.`user`;
SHOW VARIABLES LIKE 'sql_mode';
SHOW GLOBAL VARIABLES LIKE 'max_allowed_packet';
SELECT * FROM `information_schema`.`COLLATIONS`;
UPDATE `{database}`.`t` SET `b`='x' WHERE `id`=1 LIMIT 1;
DELETE FROM `{database}`.`t` WHERE `id`=1 LIMIT 1;
SHOW /*!50002 FULL */ TABLES FROM `{database}`;
SELECT COUNT(*) FROM `{database}`.`t`;
ALTER TABLE `t` CHANGE COLUMN `b` `c` VARCHAR(20) NULL DEFAULT NULL COLLATE 'utf8mb4_general_ci' AFTER `id`, ADD COLUMN `d` INT NULL DEFAULT NULL AFTER `c`;
ALTER TABLE `t` COLLATE='utf8mb4_general_ci', COMMENT='x';
SHOW CREATE DATABASE `{database}`;
SELECT * FROM `information_schema`.`TRIGGERS` WHERE `EVENT_OBJECT_SCHEMA`='{database}';
SHOW PROCEDURE STATUS LIKE 'x';
== phpMyAdmin, designing
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(10), KEY (b));
SELECT CURRENT_ROLE();
SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = '{database}' AND TABLE_NAME = 't' AND IS_UPDATABLE = 'YES';
SELECT COLUMN_NAME AS `Field`, COLUMN_TYPE AS `Type`, COLLATION_NAME AS `Collation`, IS_NULLABLE AS `Null`, COLUMN_KEY AS `Key`, COLUMN_DEFAULT AS `Default`, EXTRA AS `Extra`, PRIVILEGES AS `Privileges`, COLUMN_COMMENT AS `Comment` FROM information_schema.COLUMNS WHERE TABLE_SCHEMA COLLATE utf8_bin = '{database}' AND TABLE_NAME COLLATE utf8_bin = 't' ORDER BY ORDINAL_POSITION ASC;
SHOW INDEXES FROM `{database}`.`t` WHERE (Non_unique = 0);
SHOW INDEXES FROM `{database}`.`t`;
SELECT *, CAST(BIN_NAME AS CHAR CHARACTER SET utf8) AS SCHEMA_NAME FROM (SELECT BINARY s.SCHEMA_NAME AS BIN_NAME, s.DEFAULT_COLLATION_NAME FROM `information_schema`.SCHEMATA s WHERE 1 GROUP BY BINARY s.SCHEMA_NAME, s.DEFAULT_COLLATION_NAME ORDER BY BINARY `SCHEMA_NAME` ASC LIMIT 0, 100) a;
SELECT *, CAST(BIN_NAME AS CHAR CHARACTER SET utf8) AS SCHEMA_NAME FROM (SELECT BINARY s.SCHEMA_NAME AS BIN_NAME, s.DEFAULT_COLLATION_NAME, COUNT(t.TABLE_SCHEMA) AS SCHEMA_TABLES, SUM(t.TABLE_ROWS) AS SCHEMA_TABLE_ROWS, SUM(t.DATA_LENGTH) AS SCHEMA_DATA_LENGTH FROM `information_schema`.SCHEMATA s LEFT JOIN `information_schema`.TABLES t ON BINARY t.TABLE_SCHEMA = BINARY s.SCHEMA_NAME GROUP BY BINARY s.SCHEMA_NAME, s.DEFAULT_COLLATION_NAME ORDER BY BINARY `SCHEMA_NAME` ASC LIMIT 0, 100) a;
SELECT DB_first_level FROM ( SELECT DISTINCT SUBSTRING_INDEX(SCHEMA_NAME, '_', 1) DB_first_level FROM INFORMATION_SCHEMA.SCHEMATA WHERE TRUE ) t ORDER BY DB_first_level ASC LIMIT 0, 100;
SELECT COUNT(*) FROM (SELECT 1 FROM `{database}`.`t` LIMIT 2) AS x;
SELECT `SCHEMA_NAME` FROM `INFORMATION_SCHEMA`.`SCHEMATA`, (SELECT DB_first_level FROM ( SELECT DISTINCT SUBSTRING_INDEX(SCHEMA_NAME, '_', 1) DB_first_level FROM INFORMATION_SCHEMA.SCHEMATA WHERE TRUE ) t ORDER BY DB_first_level ASC LIMIT 0, 100) t2 WHERE TRUE AND 1 = LOCATE(CONCAT(DB_first_level, '_'), CONCAT(SCHEMA_NAME, '_')) ORDER BY SCHEMA_NAME ASC;
SHOW CREATE TABLE `{database}`.`t`;
SELECT * FROM `t` LIMIT 0, 25;
SELECT SQL_CALC_FOUND_ROWS * FROM `t` LIMIT 0, 25;
SELECT FOUND_ROWS() AS count;
SELECT 1 FROM (SELECT `GRANTEE`, `IS_GRANTABLE` FROM `INFORMATION_SCHEMA`.`COLUMN_PRIVILEGES` UNION SELECT `GRANTEE`, `IS_GRANTABLE` FROM `INFORMATION_SCHEMA`.`TABLE_PRIVILEGES` UNION SELECT `GRANTEE`, `IS_GRANTABLE` FROM `INFORMATION_SCHEMA`.`SCHEMA_PRIVILEGES` UNION SELECT `GRANTEE`, `IS_GRANTABLE` FROM `INFORMATION_SCHEMA`.`USER_PRIVILEGES`) t WHERE `IS_GRANTABLE` = 'YES' AND '''root''@''%''' LIKE `GRANTEE` LIMIT 1;
SELECT `PRIVILEGE_TYPE` FROM `INFORMATION_SCHEMA`.`SCHEMA_PRIVILEGES` WHERE GRANTEE='\'root\'@\'%\'' AND PRIVILEGE_TYPE='TRIGGER' AND '{database}' LIKE `TABLE_SCHEMA`;
SELECT `User`, `Host`, IF(`authentication_string` = _latin1 '', 'N', 'Y') AS 'Password' FROM `mysql`.`user` ORDER BY `User` ASC, `Host` ASC;
SHOW FULL COLUMNS FROM `{database}`.`t` LIKE 'b';
SHOW PROFILING; -- 1064
SHOW PROFILES;
SET profiling=0;
SHOW ENGINES;
SHOW STATUS LIKE 'Threads_running';
SHOW OPEN TABLES;
CHECKSUM TABLE `t`; -- 1235
ANALYZE TABLE `t`;
FLUSH TABLE `t`;
FLUSH LOCAL TABLES t, `{database}`.`nothing`;
SELECT a.`TABLE_NAME`, a.`COLUMN_NAME` FROM `information_schema`.`COLUMNS` a JOIN `information_schema`.`TABLES` b USING (`TABLE_SCHEMA`, `TABLE_NAME`) WHERE a.`TABLE_SCHEMA` = '{database}';
SELECT ROUTINE_NAME, DTD_IDENTIFIER FROM information_schema.ROUTINES WHERE ROUTINE_TYPE='PROCEDURE' AND ROUTINE_SCHEMA COLLATE utf8_bin = '{database}';
== Sequelize and Knex
CREATE TABLE IF NOT EXISTS `Users` (`id` INTEGER auto_increment, `name` VARCHAR(255), PRIMARY KEY (`id`)) ENGINE=InnoDB;
SELECT CONSTRAINT_NAME as constraint_name,CONSTRAINT_NAME as constraintName,CONSTRAINT_SCHEMA as constraintSchema,CONSTRAINT_SCHEMA as constraintCatalog,TABLE_NAME as tableName,TABLE_SCHEMA as tableSchema,TABLE_SCHEMA as tableCatalog,COLUMN_NAME as columnName,REFERENCED_TABLE_SCHEMA as referencedTableSchema,REFERENCED_TABLE_SCHEMA as referencedTableCatalog,REFERENCED_TABLE_NAME as referencedTableName,REFERENCED_COLUMN_NAME as referencedColumnName FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE where TABLE_NAME = 'Users' AND CONSTRAINT_NAME!='PRIMARY' AND CONSTRAINT_SCHEMA='{database}' AND REFERENCED_TABLE_NAME IS NOT NULL;
SELECT c.CONSTRAINT_SCHEMA AS constraintSchema, c.CONSTRAINT_NAME AS constraintName, c.CONSTRAINT_TYPE AS constraintType, c.TABLE_SCHEMA AS tableSchema, c.TABLE_NAME AS tableName, kcu.COLUMN_NAME AS columnNames, kcu.REFERENCED_TABLE_SCHEMA AS referencedTableSchema, kcu.REFERENCED_TABLE_NAME AS referencedTableName, kcu.REFERENCED_COLUMN_NAME AS referencedColumnNames, r.DELETE_RULE AS deleteAction, r.UPDATE_RULE AS updateAction, ch.CHECK_CLAUSE AS definition FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS c LEFT JOIN INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS r ON c.CONSTRAINT_CATALOG = r.CONSTRAINT_CATALOG AND c.CONSTRAINT_SCHEMA = r.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = r.CONSTRAINT_NAME AND c.TABLE_NAME = r.TABLE_NAME LEFT JOIN INFORMATION_SCHEMA.KEY_COLUMN_USAGE kcu ON c.CONSTRAINT_SCHEMA = kcu.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = kcu.CONSTRAINT_NAME AND c.TABLE_NAME = kcu.TABLE_NAME LEFT JOIN INFORMATION_SCHEMA.CHECK_CONSTRAINTS ch ON c.CONSTRAINT_CATALOG = ch.CONSTRAINT_CATALOG AND c.CONSTRAINT_SCHEMA = ch.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = ch.CONSTRAINT_NAME WHERE c.TABLE_NAME = 'Users' AND c.TABLE_SCHEMA = '{database}' ORDER BY c.CONSTRAINT_NAME, kcu.ORDINAL_POSITION;
INSERT INTO `Users` (`id`,`name`) VALUES (DEFAULT,'x');
INSERT INTO `Users` (`id`,`name`) VALUES (NULL,'y'),(NULL,'z') ON DUPLICATE KEY UPDATE `name`=VALUES(`name`);
SELECT `User`.*, `Posts`.`id` AS `Posts.id` FROM (SELECT `User`.`id`, `User`.`name` FROM `Users` AS `User` WHERE (SELECT `id` FROM `Users` AS `Posts` WHERE (`Posts`.`id` = `User`.`id`) LIMIT 1) IS NOT NULL ORDER BY `User`.`id` DESC LIMIT 2) AS `User` INNER JOIN `Users` AS `Posts` ON `User`.`id` = `Posts`.`id` ORDER BY `User`.`id` DESC;
SELECT count(`User`.`id`) AS `count` FROM `Users` AS `User` WHERE (`User`.`name` LIKE '%x%' AND `User`.`id` BETWEEN 1 AND 9);
UPDATE `Users` SET `id`=`id`+ 0,`name`='q' WHERE `id` = 1;
DELETE FROM `Users` WHERE `id` = 77 LIMIT 1;
TRUNCATE `Users`;
SHOW INDEX FROM `Users` FROM `{database}`;
SHOW FULL COLUMNS FROM `Users` FROM `{database}`;
create table `knex_migrations` (`id` int unsigned not null auto_increment primary key, `name` varchar(255), `batch` int, `migration_time` timestamp null);
create table `knex_migrations_lock` (`index` int unsigned not null auto_increment primary key, `is_locked` int);
select * from information_schema.tables where table_name = 'knex_migrations' and table_schema = database();
insert into `knex_migrations_lock` (`is_locked`) values (0);
update `knex_migrations_lock` set `is_locked` = 1 where `is_locked` = 0;
show columns from `knex_migrations` like 'batch';
SELECT KCU.CONSTRAINT_NAME FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE AS KCU INNER JOIN INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS AS RC ON KCU.CONSTRAINT_NAME = RC.CONSTRAINT_NAME WHERE KCU.TABLE_NAME = 'knex_migrations' AND KCU.TABLE_SCHEMA = '{database}';
== TypeORM, synchronizing
CREATE TABLE `user` (`id` int NOT NULL AUTO_INCREMENT, `email` varchar(255) NOT NULL, UNIQUE INDEX `IDX_e12875dfb3b1d92d7d7c5377e2` (`email`), PRIMARY KEY (`id`)) ENGINE=InnoDB;
SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `TABLE_COMMENT` FROM `INFORMATION_SCHEMA`.`TABLES` WHERE `TABLE_SCHEMA` = '{database}' AND `TABLE_NAME` = 'user';
SELECT * FROM `INFORMATION_SCHEMA`.`COLUMNS` WHERE `TABLE_SCHEMA` = '{database}' AND `TABLE_NAME` = 'user';
SELECT * FROM (SELECT * FROM `INFORMATION_SCHEMA`.`KEY_COLUMN_USAGE` `kcu` WHERE `kcu`.`TABLE_SCHEMA` = '{database}' AND `kcu`.`TABLE_NAME` = 'user') `kcu` WHERE `CONSTRAINT_NAME` = 'PRIMARY';
SELECT `s`.* FROM (SELECT * FROM `INFORMATION_SCHEMA`.`STATISTICS` WHERE `TABLE_SCHEMA` = '{database}' AND `TABLE_NAME` = 'user') `s` LEFT JOIN (SELECT * FROM `INFORMATION_SCHEMA`.`REFERENTIAL_CONSTRAINTS` WHERE `CONSTRAINT_SCHEMA` = '{database}' AND `TABLE_NAME` = 'user') `rc` ON `s`.`INDEX_NAME` = `rc`.`CONSTRAINT_NAME` AND `s`.`TABLE_SCHEMA` = `rc`.`CONSTRAINT_SCHEMA` WHERE `s`.`INDEX_NAME` != 'PRIMARY' AND `rc`.`CONSTRAINT_NAME` IS NULL;
SELECT `kcu`.`TABLE_SCHEMA`, `kcu`.`TABLE_NAME`, `kcu`.`CONSTRAINT_NAME`, `kcu`.`COLUMN_NAME`, `kcu`.`REFERENCED_TABLE_SCHEMA`, `kcu`.`REFERENCED_TABLE_NAME`, `kcu`.`REFERENCED_COLUMN_NAME`, `rc`.`DELETE_RULE` `ON_DELETE`, `rc`.`UPDATE_RULE` `ON_UPDATE` FROM (SELECT * FROM `INFORMATION_SCHEMA`.`KEY_COLUMN_USAGE` `kcu` WHERE `kcu`.`TABLE_SCHEMA` = '{database}' AND `kcu`.`TABLE_NAME` = 'user') `kcu` INNER JOIN (SELECT * FROM `INFORMATION_SCHEMA`.`REFERENTIAL_CONSTRAINTS` WHERE `CONSTRAINT_SCHEMA` = '{database}' AND `TABLE_NAME` = 'user') `rc` ON `rc`.`CONSTRAINT_SCHEMA` = `kcu`.`CONSTRAINT_SCHEMA` AND `rc`.`TABLE_NAME` = `kcu`.`TABLE_NAME` AND `rc`.`CONSTRAINT_NAME` = `kcu`.`CONSTRAINT_NAME`;
SELECT `SCHEMA_NAME`, `DEFAULT_CHARACTER_SET_NAME` as `CHARSET`, `DEFAULT_COLLATION_NAME` AS `COLLATION` FROM `INFORMATION_SCHEMA`.`SCHEMATA`;
SELECT DISTINCT `distinctAlias`.`User_id` AS `ids_User_id` FROM (SELECT `User`.`id` AS `User_id`, `User`.`email` AS `User_email` FROM `user` `User` WHERE ((`User`.`id` = 1))) `distinctAlias` ORDER BY `User_id` ASC LIMIT 1;
SELECT COUNT(DISTINCT(`User`.`id`)) AS `cnt` FROM `user` `User`;
SELECT COUNT(1) AS `cnt` FROM `user` `User`;
INSERT INTO `user`(`id`, `email`) VALUES (DEFAULT, 'x');
SELECT `User`.`id` AS `User_id` FROM `user` `User` WHERE `User`.`id` = 1;
ALTER TABLE `user` ADD `age` int NOT NULL DEFAULT '0';
ALTER TABLE `user` CHANGE `age` `years` int NOT NULL DEFAULT '0';
ALTER TABLE `user` DROP COLUMN `years`;
ALTER TABLE `user` ADD `years` bigint NULL COMMENT 'x';
ALTER TABLE `user` ADD UNIQUE INDEX `IDX_x` (`years`);
CREATE UNIQUE INDEX `REL_x` ON `user` (`years`, `email`);
ALTER TABLE `user` DROP INDEX `IDX_x`;
SELECT VERSION() AS `version`;
SELECT * FROM `INFORMATION_SCHEMA`.`VIEWS` WHERE `TABLE_SCHEMA` = '{database}';
CREATE TABLE `typeorm_metadata` (`type` varchar(255) NOT NULL, `database` varchar(255) NULL, `schema` varchar(255) NULL, `table` varchar(255) NULL, `name` varchar(255) NULL, `value` text NULL) ENGINE=InnoDB;
CREATE VIEW `v` AS SELECT `id` FROM `user`;
DROP VIEW `v`;
SET FOREIGN_KEY_CHECKS = 0;
SELECT concat('DROP VIEW IF EXISTS `', table_schema, '`.`', table_name, '`') AS `query` FROM `INFORMATION_SCHEMA`.`VIEWS` WHERE `TABLE_SCHEMA` = '{database}';
SELECT concat('DROP TABLE IF EXISTS `', table_schema, '`.`', table_name, '`') AS `query` FROM `INFORMATION_SCHEMA`.`TABLES` WHERE `TABLE_SCHEMA` = '{database}';
== WordPress, running
SET SESSION sql_mode='NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY';
CREATE TABLE wp_posts (ID bigint(20) unsigned NOT NULL auto_increment, post_author bigint(20) unsigned NOT NULL default '0', post_date datetime NOT NULL default '0000-00-00 00:00:00', post_title text NOT NULL, post_status varchar(20) NOT NULL default 'publish', post_type varchar(20) NOT NULL default 'post', PRIMARY KEY (ID), KEY type_status_date (post_type,post_status,post_date,ID));
CREATE TABLE wp_term_relationships (object_id bigint(20) unsigned NOT NULL default 0, term_taxonomy_id bigint(20) unsigned NOT NULL default 0, term_order int(11) NOT NULL default 0, PRIMARY KEY (object_id,term_taxonomy_id), KEY term_taxonomy_id (term_taxonomy_id));
CREATE TABLE wp_postmeta (meta_id bigint(20) unsigned NOT NULL auto_increment, post_id bigint(20) unsigned NOT NULL default '0', meta_key varchar(255) default NULL, meta_value longtext, PRIMARY KEY (meta_id), KEY post_id (post_id), KEY meta_key (meta_key(191)));
SELECT SQL_CALC_FOUND_ROWS wp_posts.ID FROM wp_posts LEFT JOIN wp_term_relationships ON (wp_posts.ID = wp_term_relationships.object_id) WHERE 1=1 AND ( wp_term_relationships.term_taxonomy_id IN (1) ) AND ((wp_posts.post_type = 'post' AND (wp_posts.post_status = 'publish'))) GROUP BY wp_posts.ID ORDER BY wp_posts.post_date DESC LIMIT 0, 10;
SELECT FOUND_ROWS();
SELECT SQL_CALC_FOUND_ROWS wp_posts.ID FROM wp_posts INNER JOIN wp_postmeta ON ( wp_posts.ID = wp_postmeta.post_id ) INNER JOIN wp_postmeta AS mt1 ON ( wp_posts.ID = mt1.post_id ) WHERE 1=1 AND ( ( wp_postmeta.meta_key = 'price' AND CAST(wp_postmeta.meta_value AS SIGNED) > '10' ) AND ( mt1.meta_key = 'x' AND mt1.meta_value LIKE '%y%' ) ) AND wp_posts.post_type = 'post' GROUP BY wp_posts.ID ORDER BY wp_postmeta.meta_value+0 DESC, wp_posts.post_date DESC LIMIT 0, 10; -- 1055
SELECT YEAR(post_date) AS `year`, MONTH(post_date) AS `month`, count(ID) as posts FROM wp_posts WHERE post_type = 'post' AND post_status = 'publish' GROUP BY YEAR(post_date), MONTH(post_date) ORDER BY post_date DESC; -- 1055
SET SESSION sql_mode='';
SELECT YEAR(post_date) AS `year`, MONTH(post_date) AS `month`, count(ID) as posts FROM wp_posts WHERE post_type = 'post' AND post_status = 'publish' GROUP BY YEAR(post_date), MONTH(post_date) ORDER BY post_date DESC;
SELECT post_status, COUNT( * ) AS num_posts FROM wp_posts WHERE post_type = 'post' GROUP BY post_status;
DELETE a, b FROM wp_postmeta a, wp_postmeta b WHERE a.meta_key LIKE '\_transient\_%' AND b.meta_key = CONCAT( '_transient_timeout_', SUBSTRING( a.meta_key, 12 ) ) AND b.meta_value < 1700000000;
DELETE a, b FROM wp_posts a LEFT JOIN wp_postmeta b ON a.ID = b.post_id WHERE a.post_status = 'auto-draft';
UPDATE wp_posts p JOIN wp_postmeta m ON p.ID = m.post_id SET p.post_title = m.meta_value, m.meta_value = 'x' WHERE m.meta_key = 'title';
INSERT INTO wp_postmeta (post_id, meta_key, meta_value) SELECT ID, 'k', post_title FROM wp_posts ON DUPLICATE KEY UPDATE meta_value = VALUES(meta_value);
INSERT INTO wp_postmeta (post_id, meta_key, meta_value) SELECT p.ID, 'k', p.post_title FROM wp_posts p ON DUPLICATE KEY UPDATE meta_value = p.post_title;
SELECT p.ID, (SELECT meta_value FROM wp_postmeta WHERE post_id = p.ID AND meta_key = 'price' ORDER BY meta_id DESC LIMIT 1) AS price FROM wp_posts p HAVING price > 10 ORDER BY price;
SELECT p.ID FROM wp_posts p WHERE p.ID NOT IN (SELECT object_id FROM wp_term_relationships tr WHERE tr.term_taxonomy_id IN (1,2)) AND p.post_date > DATE_SUB(NOW(), INTERVAL 30 DAY) ORDER BY FIELD(p.ID, 3, 2, 1), RAND() LIMIT 3;
SELECT DISTINCT meta_key FROM wp_postmeta WHERE meta_key NOT BETWEEN '_' AND '_z' HAVING meta_key NOT LIKE '\_%' ORDER BY meta_key LIMIT 30;
SELECT COUNT(NULLIF(`meta_value` LIKE '%"administrator"%', false)), COUNT(*) FROM wp_postmeta INNER JOIN wp_posts ON post_id = ID WHERE meta_key = 'wp_capabilities';
ALTER TABLE wp_posts ADD COLUMN extra varchar(10) NOT NULL DEFAULT '' AFTER post_title, ADD KEY extra (extra);
OPTIMIZE TABLE `wp_posts`;
SHOW TABLE STATUS LIKE 'wp\_%';
SHOW TABLES LIKE 'wp\_posts';
== SHOW, in its forms
CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(10), UNIQUE KEY u (b));
CREATE VIEW v AS SELECT id FROM a;
SHOW BINARY LOG STATUS;
SHOW BINLOG EVENTS; -- 1235
SHOW CHARACTER SET LIKE 'utf8%';
SHOW CHARACTER SET WHERE Maxlen > 3;
SHOW COLLATION WHERE `Charset` = 'utf8mb4' AND `Id` > 40;
SHOW COLLATION LIKE 'utf8mb4\_0900%';
SHOW COLUMNS IN a IN {database};
SHOW FULL FIELDS IN a LIKE 'b%';
SHOW COLUMNS FROM a WHERE Field = 'id' OR Type LIKE 'varchar%';
SHOW CREATE USER root;
SHOW CREATE USER CURRENT_USER();
SHOW CREATE USER 'root'@'%';
SHOW DATABASES LIKE '%show%';
SHOW SCHEMAS WHERE `Database` <> 'mysql';
SHOW STORAGE ENGINES;
SHOW ENGINE NDB STATUS;
SHOW ENGINE InnoDB MUTEX;
SHOW EVENTS IN {database} WHERE Status = 'ENABLED';
SHOW FUNCTION STATUS WHERE Db = 'x';
SHOW PROCEDURE STATUS;
SHOW PROCEDURE CODE x; -- 1235
SHOW GRANTS FOR root;
SHOW GRANTS FOR CURRENT_USER;
SHOW INDEX IN a WHERE Key_name = 'u' AND Column_name = 'b';
SHOW KEYS IN a FROM {database};
SHOW OPEN TABLES WHERE In_use > 0;
SHOW OPEN TABLES LIKE 'a';
SHOW PLUGINS;
SHOW PRIVILEGES;
SHOW PROCESSLIST;
SHOW PROFILE; -- 1235
SHOW PROFILES;
SHOW RELAYLOG EVENTS; -- 1235
SHOW REPLICA STATUS;
SHOW REPLICA STATUS FOR CHANNEL 'x';
SHOW REPLICAS;
SHOW SLAVE HOSTS;
SHOW SLAVE STATUS FOR CHANNEL '';
SHOW GLOBAL STATUS WHERE Variable_name = 'Uptime' OR Variable_name LIKE 'Com_s%';
SHOW LOCAL STATUS LIKE 'Com_select';
SHOW TABLE STATUS LIKE 'a';
SHOW TABLE STATUS FROM {database} WHERE Engine IS NULL OR `Rows` >= 0;
SHOW EXTENDED FULL TABLES FROM {database} WHERE Table_type = 'VIEW';
SHOW TABLES IN {database} WHERE Tables_in_{database} = 'a';
SHOW TRIGGERS IN {database};
SHOW TRIGGERS WHERE `Event` = 'INSERT' AND `Table` = 'a';
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('port', 'version') AND Value <> '';
SHOW LOCAL VARIABLES LIKE '%wait%';
SELECT 1/0;
SHOW WARNINGS;
SHOW WARNINGS LIMIT 1 OFFSET 0;
SHOW COUNT(*) WARNINGS;
SHOW ERRORS LIMIT 0, 3;
SHOW COUNT(*) ERRORS;
SHOW MASTER LOGS;
SHOW BINARY LOGS;
SHOW PARSE_TREE SELECT 1; -- 1064
DESC a;
DESC a 'b%';
EXPLAIN a;
DESCRIBE v;
SHOW CREATE TABLE v;
SHOW CREATE VIEW a; -- 1347
SHOW COLUMNS FROM v;
SHOW INDEX FROM v;
SHOW INDEX FROM information_schema.tables;
SHOW CREATE TABLE information_schema.tables;
SHOW TABLES FROM nothing; -- 1049
SHOW TABLE STATUS FROM nothing; -- 1049
SHOW TRIGGERS FROM nothing; -- 1049
SHOW COLUMNS FROM nothing; -- 1146
SHOW CREATE DATABASE nothing; -- 1049
SHOW NOTHING; -- 1064
