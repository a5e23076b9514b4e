//! Sessions as bytes: a magic number, a version, a checksum, the session (G-55). An older version is read or refused aloud.

use sha2::{Digest, Sha256};

use crate::config::Options;
use crate::error::{Code, Error, Result};
use crate::session::Session;

const MAGIC: &[u8; 4] = b"THSN";
/// Raised when the layout of a session changes.
const VERSION: u32 = 6;
const HEADER: usize = 4 + 4 + 32;

impl Session {
    /// The whole session, its embedding spec included. Cost: linear in its size, mostly its vectors.
    ///
    /// # Panics
    /// Never: a session holds nothing that cannot be written.
    pub fn snapshot(&self) -> Vec<u8> {
        let body = postcard::to_stdvec(self).expect("a session holds nothing that cannot be written");
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&Sha256::digest(&body));
        bytes.extend_from_slice(&body);
        bytes
    }

    /// A session from its snapshot.
    ///
    /// # Errors
    /// `INVALID_SNAPSHOT` when the bytes are cut, altered, of another version or of another session;
    /// `INVALID_VECTOR` when its vectors are of another model than the engine's (G-56).
    pub fn restore(bytes: &[u8], id: &str, namespace: &str, options: &Options) -> Result<Self> {
        let invalid = |what: &str| Error::new(Code::InvalidSnapshot, what.to_owned());
        let (header, body) =
            bytes.split_at_checked(HEADER).ok_or_else(|| invalid("the snapshot is shorter than its header"))?;
        if &header[..4] != MAGIC {
            return Err(invalid("these bytes are not a snapshot of a session"));
        }
        let version = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        if version != VERSION {
            return Err(Error::limit(Code::InvalidSnapshot, "snapshot version", version, VERSION));
        }
        if Sha256::digest(body)[..] != header[8..] {
            return Err(invalid("the snapshot was cut or altered: its checksum does not fit"));
        }
        let mut session: Self =
            postcard::from_bytes(body).map_err(|e| invalid(&format!("the snapshot cannot be read: {e}")))?;
        if !session.is_sound() {
            return Err(invalid("the snapshot's parts do not fit each other"));
        }
        if session.id() != id {
            return Err(Error::limit(Code::InvalidSnapshot, "the snapshot's session", session.id(), id));
        }
        if session.namespace() != namespace {
            return Err(Error::limit(
                Code::InvalidSnapshot,
                "the snapshot's namespace",
                session.namespace(),
                namespace,
            ));
        }
        let fresh = Self::new(id, namespace, options);
        if session.embedding() != fresh.embedding() {
            let name = |session: &Self| {
                session.embedding().map_or("none".to_owned(), |spec| format!("{} ({})", spec.id, spec.dimensions))
            };
            return Err(Error::limit(
                Code::InvalidVector,
                "the snapshot's embedding model",
                name(&session),
                name(&fresh),
            ));
        }
        session.loaded(fresh);
        Ok(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CallOptions;
    use crate::session::{Call, MessageRole, Meta, Workspace};
    use crate::tokens::Counter;

    /// Whoever can write a snapshot can write its checksum.
    #[test]
    fn no_byte_of_a_snapshot_is_trusted() {
        let vectors = |at: usize| -> Vec<f32> { (0..4).map(|i| f32::from(u8::from(i == at % 4))).collect() };
        for form in ["f32", "i8"] {
            let json = format!(r#"{{"embedder":{{"host":{{"id":"m","dimensions":4}}}},"vectors":"{form}"}}"#);
            let options = Options::parse(&json).unwrap();
            let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
            let workspace = &mut Workspace::default();
            let mut session = Session::new("s", "", &options);
            for at in 0..3 {
                let asked = format!("Which port does etcd {at} use, and the garden violin?");
                let vector = vectors(at);
                session.append(MessageRole::User, &asked, Meta::default(), Some(&vector), call, workspace).unwrap();
                let told = format!("1. Port 23{at}\n2. Harbour violin {at}");
                session.append(MessageRole::Assistant, &told, Meta::default(), Some(&vector), call, workspace).unwrap();
            }
            let whole = session.snapshot();
            let (mut refused, mut read) = (0, 0);
            for at in HEADER..whole.len() {
                for value in [0, 0x7f, 0x80, 0xff, whole[at] ^ 1] {
                    let mut bytes = whole.clone();
                    bytes[at] = value;
                    let sum = Sha256::digest(&bytes[HEADER..]);
                    bytes[8..HEADER].copy_from_slice(&sum);
                    let Ok(mut session) = Session::restore(&bytes, "s", "", &options) else {
                        refused += 1;
                        continue;
                    };
                    read += 1;
                    // Whatever it says by now, it is a session.
                    let dry = CallOptions { dry_run: true, ..CallOptions::default() };
                    let asked = "And the second one, for the violin?";
                    let vector = vectors(at);
                    drop(session.assemble(asked, Some(&vector), &dry, None, call, workspace));
                    drop(session.append(MessageRole::User, asked, Meta::default(), Some(&vector), call, workspace));
                    session.delete_turn(1, workspace);
                    session.snapshot();
                }
            }
            assert!(refused > 500 && read > 500, "{form}: {refused} refused, {read} read");
        }
    }
}
