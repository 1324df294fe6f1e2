use super::*;
use rsa::RsaPublicKey;
use rsa::pkcs8::DecodePublicKey;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn a_key_is_made_once_and_decrypts_what_its_public_half_encrypts() {
    let directory = std::env::temp_dir().join(format!("latsdb_password_key_{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("latsdb_1_private_key.pem");
    let made = load(&path).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let public = std::fs::read_to_string(directory.join("latsdb_1_public_key.pem")).unwrap();
    assert_eq!(*public, *made.public_pem);
    let found = load(&path).unwrap();
    assert_eq!(found.public_pem, made.public_pem);

    let public = RsaPublicKey::from_public_key_pem(&public).unwrap();
    let encrypted = public.encrypt(&mut OsRng, Oaep::new::<sha1::Sha1>(), b"secret\0").unwrap();
    let clear = |bytes: Vec<u8>| answer(&found, &Wanted::Clear(bytes));
    assert_eq!(clear(encrypted), PasswordKeyAnswer::Clear(b"secret\0".to_vec()));
    for nonsense in [vec![], vec![1; 256], vec![255; 256], vec![0; 5_000]] {
        assert_eq!(clear(nonsense), PasswordKeyAnswer::None);
    }
    std::fs::write(&path, "no key").unwrap();
    assert!(load(&path).is_err());
    std::fs::remove_dir_all(&directory).unwrap();
}
