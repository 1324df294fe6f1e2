//! The tests of this crate that catch deliberate bugs (`mutants`): each runs with its bug, and has to fail.

use crate::disk_module::checkpoint::tests as checkpoint;
use crate::mutants::{DIRECTED, Mutant, activate};
use crate::{main_module, module};
use stdx::planted::survivors;

const TESTS: [(Mutant, fn()); 12] = [
    (Mutant::LeftOutHeard, module::tests::signals_of_a_node_that_the_view_leaves_out_are_counted),
    (Mutant::NodeEpochNotRaised, module::tests::what_one_module_hears_of_epochs_all_of_its_node_say),
    (Mutant::SettledByOne, main_module::tests::a_view_is_settled_when_all_members_have_installed_it),
    (
        Mutant::AnswersBehind,
        main_module::tests::a_node_that_lost_a_data_node_is_behind_until_that_one_told_it_the_schema,
    ),
    (Mutant::SchemaBeforeView, main_module::tests::who_is_in_a_newer_view_gets_no_schema_of_an_older_one),
    (Mutant::SqlNodesUnheard, main_module::tests::a_version_is_installed_when_the_sql_nodes_in_reach_have_it),
    (Mutant::ManifestBeforeDurable, checkpoint::a_manifest_waits_until_its_epoch_is_durable),
    (Mutant::PositionAfterScan, checkpoint::a_checkpoint_and_the_log_behind_its_position_are_all_rows),
    (Mutant::DropBeforeDurable, checkpoint::old_files_go_when_the_manifests_name_others),
    (Mutant::ManifestWhileJoining, checkpoint::a_node_that_joins_makes_no_checkpoint),
    (Mutant::TrimBeforeManifest, checkpoint::the_log_is_released_when_the_manifests_are_there),
    (Mutant::EpochOfRowsOnly, checkpoint::a_dropped_table_leaves_the_manifest_when_that_is_durable),
];

#[test]
fn every_listed_bug_fails_its_test() {
    assert_eq!(TESTS.map(|(mutant, _)| mutant), DIRECTED);
    assert_eq!(survivors(&TESTS, activate), []);
}
