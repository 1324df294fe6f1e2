//! Collation ids, as clients send them in the handshake and as column definitions carry them.
//!
//! The table has every collation of MySQL 8 whose character set a client may use (so not ucs2, utf16, utf32), by
//! MySQL's names. Whether the server supports one is not decided here.
//!
//! **Invariant.** The table is sorted by id, without duplicates.

pub const LATIN1_SWEDISH_CI: u16 = 8;
pub const UTF8MB3_GENERAL_CI: u16 = 33;
pub const UTF8MB4_GENERAL_CI: u16 = 45;
pub const UTF8MB4_BIN: u16 = 46;
/// Not a text at all: BLOB and BINARY columns, numbers, dates.
pub const BINARY: u16 = 63;
pub const UTF8MB3_BIN: u16 = 83;
pub const UTF8MB4_UNICODE_CI: u16 = 224;
/// MySQL 8's default, and ours.
pub const UTF8MB4_0900_AI_CI: u16 = 255;
pub const UTF8MB4_0900_AS_CS: u16 = 278;
pub const UTF8MB4_0900_AS_CI: u16 = 305;
pub const UTF8MB4_0900_BIN: u16 = 309;

/// A collation by its MySQL names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Collation {
    pub id: u16,
    pub name: &'static str,
    /// Name of its character set.
    pub charset: &'static str,
}

/// The collation that a client means by `id`.
#[must_use]
pub fn collation(id: u16) -> Option<Collation> {
    let index = COLLATIONS.binary_search_by_key(&id, |&(id, ..)| id).ok()?;
    let (id, name, charset) = COLLATIONS[index];
    Some(Collation { id, name, charset })
}

/// The collation called `name`, in any case.
#[must_use]
pub fn collation_by_name(name: &str) -> Option<Collation> {
    let &(id, name, charset) = COLLATIONS.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name))?;
    Some(Collation { id, name, charset })
}

/// Every collation, by id.
pub fn collations() -> impl Iterator<Item = Collation> {
    COLLATIONS.iter().map(|&(id, name, charset)| Collation { id, name, charset })
}

/// Id, collation, character set.
#[rustfmt::skip]
const COLLATIONS: &[(u16, &str, &str)] = &[
    (1, "big5_chinese_ci", "big5"),
    (2, "latin2_czech_cs", "latin2"),
    (3, "dec8_swedish_ci", "dec8"),
    (4, "cp850_general_ci", "cp850"),
    (5, "latin1_german1_ci", "latin1"),
    (6, "hp8_english_ci", "hp8"),
    (7, "koi8r_general_ci", "koi8r"),
    (8, "latin1_swedish_ci", "latin1"),
    (9, "latin2_general_ci", "latin2"),
    (10, "swe7_swedish_ci", "swe7"),
    (11, "ascii_general_ci", "ascii"),
    (12, "ujis_japanese_ci", "ujis"),
    (13, "sjis_japanese_ci", "sjis"),
    (14, "cp1251_bulgarian_ci", "cp1251"),
    (15, "latin1_danish_ci", "latin1"),
    (16, "hebrew_general_ci", "hebrew"),
    (18, "tis620_thai_ci", "tis620"),
    (19, "euckr_korean_ci", "euckr"),
    (20, "latin7_estonian_cs", "latin7"),
    (21, "latin2_hungarian_ci", "latin2"),
    (22, "koi8u_general_ci", "koi8u"),
    (23, "cp1251_ukrainian_ci", "cp1251"),
    (24, "gb2312_chinese_ci", "gb2312"),
    (25, "greek_general_ci", "greek"),
    (26, "cp1250_general_ci", "cp1250"),
    (27, "latin2_croatian_ci", "latin2"),
    (28, "gbk_chinese_ci", "gbk"),
    (29, "cp1257_lithuanian_ci", "cp1257"),
    (30, "latin5_turkish_ci", "latin5"),
    (31, "latin1_german2_ci", "latin1"),
    (32, "armscii8_general_ci", "armscii8"),
    (33, "utf8mb3_general_ci", "utf8mb3"),
    (34, "cp1250_czech_cs", "cp1250"),
    (36, "cp866_general_ci", "cp866"),
    (37, "keybcs2_general_ci", "keybcs2"),
    (38, "macce_general_ci", "macce"),
    (39, "macroman_general_ci", "macroman"),
    (40, "cp852_general_ci", "cp852"),
    (41, "latin7_general_ci", "latin7"),
    (42, "latin7_general_cs", "latin7"),
    (43, "macce_bin", "macce"),
    (44, "cp1250_croatian_ci", "cp1250"),
    (45, "utf8mb4_general_ci", "utf8mb4"),
    (46, "utf8mb4_bin", "utf8mb4"),
    (47, "latin1_bin", "latin1"),
    (48, "latin1_general_ci", "latin1"),
    (49, "latin1_general_cs", "latin1"),
    (50, "cp1251_bin", "cp1251"),
    (51, "cp1251_general_ci", "cp1251"),
    (52, "cp1251_general_cs", "cp1251"),
    (53, "macroman_bin", "macroman"),
    (57, "cp1256_general_ci", "cp1256"),
    (58, "cp1257_bin", "cp1257"),
    (59, "cp1257_general_ci", "cp1257"),
    (63, "binary", "binary"),
    (64, "armscii8_bin", "armscii8"),
    (65, "ascii_bin", "ascii"),
    (66, "cp1250_bin", "cp1250"),
    (67, "cp1256_bin", "cp1256"),
    (68, "cp866_bin", "cp866"),
    (69, "dec8_bin", "dec8"),
    (70, "greek_bin", "greek"),
    (71, "hebrew_bin", "hebrew"),
    (72, "hp8_bin", "hp8"),
    (73, "keybcs2_bin", "keybcs2"),
    (74, "koi8r_bin", "koi8r"),
    (75, "koi8u_bin", "koi8u"),
    (76, "utf8mb3_tolower_ci", "utf8mb3"),
    (77, "latin2_bin", "latin2"),
    (78, "latin5_bin", "latin5"),
    (79, "latin7_bin", "latin7"),
    (80, "cp850_bin", "cp850"),
    (81, "cp852_bin", "cp852"),
    (82, "swe7_bin", "swe7"),
    (83, "utf8mb3_bin", "utf8mb3"),
    (84, "big5_bin", "big5"),
    (85, "euckr_bin", "euckr"),
    (86, "gb2312_bin", "gb2312"),
    (87, "gbk_bin", "gbk"),
    (88, "sjis_bin", "sjis"),
    (89, "tis620_bin", "tis620"),
    (91, "ujis_bin", "ujis"),
    (92, "geostd8_general_ci", "geostd8"),
    (93, "geostd8_bin", "geostd8"),
    (94, "latin1_spanish_ci", "latin1"),
    (95, "cp932_japanese_ci", "cp932"),
    (96, "cp932_bin", "cp932"),
    (97, "eucjpms_japanese_ci", "eucjpms"),
    (98, "eucjpms_bin", "eucjpms"),
    (99, "cp1250_polish_ci", "cp1250"),
    (192, "utf8mb3_unicode_ci", "utf8mb3"),
    (193, "utf8mb3_icelandic_ci", "utf8mb3"),
    (194, "utf8mb3_latvian_ci", "utf8mb3"),
    (195, "utf8mb3_romanian_ci", "utf8mb3"),
    (196, "utf8mb3_slovenian_ci", "utf8mb3"),
    (197, "utf8mb3_polish_ci", "utf8mb3"),
    (198, "utf8mb3_estonian_ci", "utf8mb3"),
    (199, "utf8mb3_spanish_ci", "utf8mb3"),
    (200, "utf8mb3_swedish_ci", "utf8mb3"),
    (201, "utf8mb3_turkish_ci", "utf8mb3"),
    (202, "utf8mb3_czech_ci", "utf8mb3"),
    (203, "utf8mb3_danish_ci", "utf8mb3"),
    (204, "utf8mb3_lithuanian_ci", "utf8mb3"),
    (205, "utf8mb3_slovak_ci", "utf8mb3"),
    (206, "utf8mb3_spanish2_ci", "utf8mb3"),
    (207, "utf8mb3_roman_ci", "utf8mb3"),
    (208, "utf8mb3_persian_ci", "utf8mb3"),
    (209, "utf8mb3_esperanto_ci", "utf8mb3"),
    (210, "utf8mb3_hungarian_ci", "utf8mb3"),
    (211, "utf8mb3_sinhala_ci", "utf8mb3"),
    (212, "utf8mb3_german2_ci", "utf8mb3"),
    (213, "utf8mb3_croatian_ci", "utf8mb3"),
    (214, "utf8mb3_unicode_520_ci", "utf8mb3"),
    (215, "utf8mb3_vietnamese_ci", "utf8mb3"),
    (223, "utf8mb3_general_mysql500_ci", "utf8mb3"),
    (224, "utf8mb4_unicode_ci", "utf8mb4"),
    (225, "utf8mb4_icelandic_ci", "utf8mb4"),
    (226, "utf8mb4_latvian_ci", "utf8mb4"),
    (227, "utf8mb4_romanian_ci", "utf8mb4"),
    (228, "utf8mb4_slovenian_ci", "utf8mb4"),
    (229, "utf8mb4_polish_ci", "utf8mb4"),
    (230, "utf8mb4_estonian_ci", "utf8mb4"),
    (231, "utf8mb4_spanish_ci", "utf8mb4"),
    (232, "utf8mb4_swedish_ci", "utf8mb4"),
    (233, "utf8mb4_turkish_ci", "utf8mb4"),
    (234, "utf8mb4_czech_ci", "utf8mb4"),
    (235, "utf8mb4_danish_ci", "utf8mb4"),
    (236, "utf8mb4_lithuanian_ci", "utf8mb4"),
    (237, "utf8mb4_slovak_ci", "utf8mb4"),
    (238, "utf8mb4_spanish2_ci", "utf8mb4"),
    (239, "utf8mb4_roman_ci", "utf8mb4"),
    (240, "utf8mb4_persian_ci", "utf8mb4"),
    (241, "utf8mb4_esperanto_ci", "utf8mb4"),
    (242, "utf8mb4_hungarian_ci", "utf8mb4"),
    (243, "utf8mb4_sinhala_ci", "utf8mb4"),
    (244, "utf8mb4_german2_ci", "utf8mb4"),
    (245, "utf8mb4_croatian_ci", "utf8mb4"),
    (246, "utf8mb4_unicode_520_ci", "utf8mb4"),
    (247, "utf8mb4_vietnamese_ci", "utf8mb4"),
    (248, "gb18030_chinese_ci", "gb18030"),
    (249, "gb18030_bin", "gb18030"),
    (250, "gb18030_unicode_520_ci", "gb18030"),
    (255, "utf8mb4_0900_ai_ci", "utf8mb4"),
    (256, "utf8mb4_de_pb_0900_ai_ci", "utf8mb4"),
    (257, "utf8mb4_is_0900_ai_ci", "utf8mb4"),
    (258, "utf8mb4_lv_0900_ai_ci", "utf8mb4"),
    (259, "utf8mb4_ro_0900_ai_ci", "utf8mb4"),
    (260, "utf8mb4_sl_0900_ai_ci", "utf8mb4"),
    (261, "utf8mb4_pl_0900_ai_ci", "utf8mb4"),
    (262, "utf8mb4_et_0900_ai_ci", "utf8mb4"),
    (263, "utf8mb4_es_0900_ai_ci", "utf8mb4"),
    (264, "utf8mb4_sv_0900_ai_ci", "utf8mb4"),
    (265, "utf8mb4_tr_0900_ai_ci", "utf8mb4"),
    (266, "utf8mb4_cs_0900_ai_ci", "utf8mb4"),
    (267, "utf8mb4_da_0900_ai_ci", "utf8mb4"),
    (268, "utf8mb4_lt_0900_ai_ci", "utf8mb4"),
    (269, "utf8mb4_sk_0900_ai_ci", "utf8mb4"),
    (270, "utf8mb4_es_trad_0900_ai_ci", "utf8mb4"),
    (271, "utf8mb4_la_0900_ai_ci", "utf8mb4"),
    (273, "utf8mb4_eo_0900_ai_ci", "utf8mb4"),
    (274, "utf8mb4_hu_0900_ai_ci", "utf8mb4"),
    (275, "utf8mb4_hr_0900_ai_ci", "utf8mb4"),
    (277, "utf8mb4_vi_0900_ai_ci", "utf8mb4"),
    (278, "utf8mb4_0900_as_cs", "utf8mb4"),
    (279, "utf8mb4_de_pb_0900_as_cs", "utf8mb4"),
    (280, "utf8mb4_is_0900_as_cs", "utf8mb4"),
    (281, "utf8mb4_lv_0900_as_cs", "utf8mb4"),
    (282, "utf8mb4_ro_0900_as_cs", "utf8mb4"),
    (283, "utf8mb4_sl_0900_as_cs", "utf8mb4"),
    (284, "utf8mb4_pl_0900_as_cs", "utf8mb4"),
    (285, "utf8mb4_et_0900_as_cs", "utf8mb4"),
    (286, "utf8mb4_es_0900_as_cs", "utf8mb4"),
    (287, "utf8mb4_sv_0900_as_cs", "utf8mb4"),
    (288, "utf8mb4_tr_0900_as_cs", "utf8mb4"),
    (289, "utf8mb4_cs_0900_as_cs", "utf8mb4"),
    (290, "utf8mb4_da_0900_as_cs", "utf8mb4"),
    (291, "utf8mb4_lt_0900_as_cs", "utf8mb4"),
    (292, "utf8mb4_sk_0900_as_cs", "utf8mb4"),
    (293, "utf8mb4_es_trad_0900_as_cs", "utf8mb4"),
    (294, "utf8mb4_la_0900_as_cs", "utf8mb4"),
    (296, "utf8mb4_eo_0900_as_cs", "utf8mb4"),
    (297, "utf8mb4_hu_0900_as_cs", "utf8mb4"),
    (298, "utf8mb4_hr_0900_as_cs", "utf8mb4"),
    (300, "utf8mb4_vi_0900_as_cs", "utf8mb4"),
    (303, "utf8mb4_ja_0900_as_cs", "utf8mb4"),
    (304, "utf8mb4_ja_0900_as_cs_ks", "utf8mb4"),
    (305, "utf8mb4_0900_as_ci", "utf8mb4"),
    (306, "utf8mb4_ru_0900_ai_ci", "utf8mb4"),
    (307, "utf8mb4_ru_0900_as_cs", "utf8mb4"),
    (308, "utf8mb4_zh_0900_as_cs", "utf8mb4"),
    (309, "utf8mb4_0900_bin", "utf8mb4"),
    (310, "utf8mb4_nb_0900_ai_ci", "utf8mb4"),
    (311, "utf8mb4_nb_0900_as_cs", "utf8mb4"),
    (312, "utf8mb4_nn_0900_ai_ci", "utf8mb4"),
    (313, "utf8mb4_nn_0900_as_cs", "utf8mb4"),
    (314, "utf8mb4_sr_latn_0900_ai_ci", "utf8mb4"),
    (315, "utf8mb4_sr_latn_0900_as_cs", "utf8mb4"),
    (316, "utf8mb4_bs_0900_ai_ci", "utf8mb4"),
    (317, "utf8mb4_bs_0900_as_cs", "utf8mb4"),
    (318, "utf8mb4_bg_0900_ai_ci", "utf8mb4"),
    (319, "utf8mb4_bg_0900_as_cs", "utf8mb4"),
    (320, "utf8mb4_gl_0900_ai_ci", "utf8mb4"),
    (321, "utf8mb4_gl_0900_as_cs", "utf8mb4"),
    (322, "utf8mb4_mn_cyrl_0900_ai_ci", "utf8mb4"),
    (323, "utf8mb4_mn_cyrl_0900_as_cs", "utf8mb4"),
];

#[cfg(test)]
mod tests;
