"""Django's settings for its own tests. LatsDB has no foreign keys, JSON and functional key parts yet."""

import pymysql

# Django looks for mysqlclient in a version that it knows.
pymysql.version_info = (2, 2, 4, "final", 0)
pymysql.__version__ = "2.2.4"
pymysql.install_as_MySQLdb()

from django.db.backends.mysql.features import DatabaseFeatures  # noqa: E402

DatabaseFeatures.supports_foreign_keys = False
DatabaseFeatures.can_introspect_foreign_keys = False
DatabaseFeatures.supports_json_field = False
DatabaseFeatures.supports_expression_indexes = False
# Those of the connections' character set: Django names utf8mb3's, which are errors beside utf8mb4 in MySQL, too.
DatabaseFeatures.test_collations = {
    "ci": "utf8mb4_general_ci",
    "non_default": "utf8mb4_esperanto_ci",
    "swedish_ci": "utf8mb4_swedish_ci",
    "virtual": "utf8mb4_esperanto_ci",
}


def database(name):
    return {
        "ENGINE": "django.db.backends.mysql",
        "HOST": "127.0.0.1",
        "PORT": {port},
        "USER": "root",
        "NAME": name,
        "TEST": {"CHARSET": "utf8mb4"},
        "OPTIONS": {"charset": "utf8mb4"},
    }


DATABASES = {"default": database("first"), "other": database("second")}
SECRET_KEY = "of tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
