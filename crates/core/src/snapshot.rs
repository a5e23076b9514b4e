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
