//! The end of a socket: closes it so that the client sees the end that was meant.

use std::io;
use std::net::Shutdown;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Closes with a FIN.
///
/// A kernel that closes a socket with unread bytes, or receives some later, answers with a reset, which can cost the
/// client the end of what it has yet to read. So a client that is in the middle of a request may first finish it, for
/// as long as `linger`.
pub(super) async fn close(socket: TcpStream, mid_request: bool, linger: Duration) {
    // Here as below, an error means that the connection is gone already.
    let _ = SockRef::from(&socket).shutdown(Shutdown::Write);
    match discard(&socket) {
        Received::End => {}
        Received::Nothing if !mid_request => {}
        Received::Nothing | Received::Bytes => {
            let _ = timeout(linger, discard_to_end(&socket)).await;
        }
    }
}

/// Closes with a reset.
///
/// A reset throws away what the kernel has not sent yet, so that is sent first, as far as the client takes it within
/// `linger`. Only Linux and Android can tell when that is done; elsewhere the reset follows at once.
pub(super) async fn reset(socket: TcpStream, linger: Duration) {
    let _ = socket.set_zero_linger();
    if let Ok(socket) = writable_once_sent(socket) {
        let _ = timeout(linger, socket.writable()).await;
    }
}

/// Makes the socket writable only while nothing that the kernel has accepted is left to send.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn writable_once_sent(socket: TcpStream) -> io::Result<TcpStream> {
    SockRef::from(&socket).set_tcp_notsent_lowat(1)?;
    // The runtime remembers from before that the socket is writable, so it has to meet it anew.
    TcpStream::from_std(socket.into_std()?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn writable_once_sent(socket: TcpStream) -> io::Result<TcpStream> {
    Ok(socket)
}

async fn discard_to_end(socket: &TcpStream) {
    while socket.readable().await.is_ok() && !matches!(discard(socket), Received::End) {
        // A client that sends without pause must not keep the time limit from being looked at.
        tokio::task::yield_now().await;
    }
}

enum Received {
    Nothing,
    Bytes,
    /// The client's FIN, or an error.
    End,
}

/// Reads and forgets what has been received, up to a megabyte.
fn discard(socket: &TcpStream) -> Received {
    // Here and not in the future, so that it costs no memory while the connection lives.
    let mut scrap = [0; 16 * 1024];
    let mut received = Received::Nothing;
    for _ in 0..64 {
        match socket.try_read(&mut scrap) {
            Ok(0) => return Received::End,
            Ok(_) => received = Received::Bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(_) => return Received::End,
        }
    }
    received
}
