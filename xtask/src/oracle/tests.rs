use super::*;

#[test]
fn arguments_become_variables() {
    let read = variables(&["--secs", "60", "--seed", "7"]).unwrap();
    assert_eq!(read, [("ROBOTA_ORACLE_SECS", "60"), ("ROBOTA_ORACLE_SEED", "7")]);
    assert!(variables(&["--secs"]).is_err());
    assert!(variables(&["--secs", "many"]).is_err());
    assert!(variables(&["--fast", "1"]).is_err());
}
