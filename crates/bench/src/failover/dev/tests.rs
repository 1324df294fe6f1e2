use super::*;

#[test]
fn sections_of_a_configuration() {
    let text =
        "[system]\nName=dev\n\n[ndb_mgmd]\nNodeId=1\nPortNumber=7\n[ndbd]\nNodeId=2\nServerPort=5\nport=6\n";
    let sections = sections(text);
    let names: Vec<&str> = sections.iter().map(|section| section.name).collect();
    assert_eq!(names, ["system", "ndb_mgmd", "ndbd"]);
    assert_eq!(sections[1].value("PortNumber"), Some("7"));
    assert_eq!((sections[2].value("port"), sections[2].value("PortNumber")), (Some("6"), None));
}
