//! Connections to a running server, for the commands that ask one.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Connects to the first address of a host that accepts; connecting to an address, and each read and write, has this
/// timeout. The error is a sentence.
pub(crate) fn connect(host: &str, port: u16, timeout: Duration) -> Result<TcpStream, String> {
    let addresses = (host, port).to_socket_addrs().map_err(|error| error.to_string())?;
    connect_to_any(addresses, timeout)
}

fn connect_to_any(addresses: impl Iterator<Item = SocketAddr>, timeout: Duration) -> Result<TcpStream, String> {
    let connect = |address| -> io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        Ok(stream)
    };
    let mut failure = "the host has no address".to_owned();
    for address in addresses {
        match connect(address) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error.to_string(),
        }
    }
    Err(failure)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use socket2::{Domain, Socket, Type};

    use super::*;

    #[test]
    fn each_address_of_a_host_is_tried() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap();
        // A socket that does not listen keeps its port from others.
        let bound = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        bound.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let closed = bound.local_addr().unwrap().as_socket().unwrap();
        let timeout = Duration::from_secs(10);
        for (addresses, connects) in [
            (&[open][..], true),
            (&[closed, open], true),
            (&[open, closed], true),
            (&[closed, closed, open], true),
            (&[closed], false),
            (&[], false),
        ] {
            let connected = connect_to_any(addresses.iter().copied(), timeout);
            assert_eq!(connected.is_ok(), connects, "{addresses:?}: {connected:?}");
        }
        let none = connect_to_any([].into_iter(), timeout).unwrap_err();
        assert_eq!(none, "the host has no address");
        let connected = connect("127.0.0.1", open.port(), timeout).unwrap();
        assert_eq!(connected.peer_addr().unwrap(), open);
        assert_eq!(connected.read_timeout().unwrap(), Some(timeout));
        assert_eq!(connected.write_timeout().unwrap(), Some(timeout));
    }
}
