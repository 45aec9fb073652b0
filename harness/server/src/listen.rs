//! Sockets to listen on.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};

use socket2::{Domain, Protocol, Socket, Type};

/// The number of connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// The number of free ports that are tried to find one that is free on each address.
const ATTEMPTS: usize = 32;

/// Why the server cannot listen.
///
/// ```
/// # use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings};
/// use dynatwin_server::{ListenError, Options, serve};
/// # let settings = Settings { clock: Clock::settable(Moment::START), seed: 1, conditions: Conditions::CALM, shared_db: false };
/// # let engine = std::sync::Arc::new(Engine::new(settings));
/// let first = serve(engine.clone(), Options::port(0))?;
/// let port = first.port();
/// assert!(matches!(serve(engine, Options::port(port)), Err(ListenError::InUse(_))));
/// # Ok::<(), ListenError>(())
/// ```
#[derive(Debug)]
pub enum ListenError {
    /// The address is in use.
    InUse(SocketAddr),
    /// The address cannot be bound.
    Unbound(SocketAddr, io::Error),
    /// The host has no address.
    UnknownHost(String, io::Error),
    /// The system provides no thread or no event queue.
    System(io::Error),
}

impl fmt::Display for ListenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenError::InUse(address) => write!(
                formatter,
                "port {} of {} is in use by another program; stop it, or choose another port with --port",
                address.port(),
                address.ip()
            ),
            ListenError::Unbound(address, error) => write!(formatter, "cannot listen on {address}: {error}"),
            ListenError::UnknownHost(host, error) => write!(formatter, "--host {host} has no address: {error}"),
            ListenError::System(error) => write!(formatter, "cannot start the server: {error}"),
        }
    }
}

impl std::error::Error for ListenError {}

/// The bound sockets, and the addresses that could not be bound.
pub(crate) struct Listening {
    pub(crate) sockets: Vec<TcpListener>,
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) notice: Option<String>,
}

/// An address, and whether the server starts without it.
type Wanted = (IpAddr, bool);

/// Listens on one port of all hosts; without hosts on both loopback addresses, because some clients try only `::1` or
/// only `127.0.0.1`.
pub(crate) fn listen(hosts: &[String], port: u16) -> Result<Listening, ListenError> {
    let wanted = wanted(hosts)?;
    attempt(port, || bind_all(&wanted, port))
}

/// Binds a port. A free port of the first address may be in use on another one, so several are tried.
fn attempt<T>(port: u16, mut bind: impl FnMut() -> Result<T, ListenError>) -> Result<T, ListenError> {
    for _ in 1..ATTEMPTS {
        match bind() {
            Err(ListenError::InUse(_)) if port == 0 => {}
            done => return done,
        }
    }
    bind()
}

fn wanted(hosts: &[String]) -> Result<Vec<Wanted>, ListenError> {
    if hosts.is_empty() {
        return Ok(vec![
            (Ipv4Addr::LOCALHOST.into(), false),
            (Ipv6Addr::LOCALHOST.into(), true),
        ]);
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    for host in hosts {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found = (bare, 0).to_socket_addrs();
        let found = found.map_err(|error| ListenError::UnknownHost(host.clone(), error))?;
        for address in found.map(|address| address.ip()) {
            if wanted.iter().all(|(known, _)| *known != address) {
                wanted.push((address, false));
            }
        }
    }
    Ok(wanted)
}

/// Binds all addresses to one port: the given one, or the one that the first of them gets.
fn bind_all(wanted: &[Wanted], port: u16) -> Result<Listening, ListenError> {
    let mut listening = Listening {
        sockets: Vec::new(),
        addresses: Vec::new(),
        notice: None,
    };
    let only_v6 = has_v4(wanted);
    for (ip, dispensable) in wanted {
        let port = listening.addresses.first().map_or(port, SocketAddr::port);
        let address = SocketAddr::new(*ip, port);
        match bind(address, only_v6).and_then(|socket| Ok((socket.local_addr()?, socket))) {
            Ok((bound, socket)) => {
                listening.addresses.push(bound);
                listening.sockets.push(socket);
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(ListenError::InUse(address)),
            Err(error) if *dispensable => listening.notice = Some(format!("not listening on {ip}: {error}")),
            Err(error) => return Err(ListenError::Unbound(address, error)),
        }
    }
    Ok(listening)
}

/// Returns whether IPv4 has sockets of its own. Otherwise `::` accepts its connections too.
fn has_v4(wanted: &[Wanted]) -> bool {
    wanted.iter().any(|(address, _)| address.is_ipv4())
}

fn bind(address: SocketAddr, only_v6: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(only_v6)?;
    }
    // Otherwise a restart must wait for the sockets of the last run to time out. On Windows the option would share the
    // port.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    // Loopback loses no packets. Reno takes the least processor time, where BBR takes 0.2 µs more for each answer. Accepted
    // connections inherit it; a system without it keeps its default.
    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    if address.ip().is_loopback() {
        let _ = socket.set_tcp_congestion(b"reno");
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

    #[test]
    fn the_unspecified_address_is_of_one_family_if_the_other_has_its_own() {
        let any = |host: &str| (host.parse().unwrap(), false);
        for (hosts, expected) in [
            (&["::"][..], false),
            (&["::1", "::"], false),
            (&["::", "0.0.0.0"], true),
            (&["127.0.0.1", "::"], true),
        ] {
            let wanted: Vec<Wanted> = hosts.iter().map(|host| any(host)).collect();
            assert_eq!(has_v4(&wanted), expected, "{hosts:?}");
        }
    }

    /// A host may be written as in a URL. Each address is bound once, and none is dispensable that was asked for.
    #[test]
    fn hosts_become_addresses() {
        let any: IpAddr = "::".parse().unwrap();
        for (hosts, expect) in [
            (&[][..], &[(V4, false), (V6, true)][..]),
            (&["127.0.0.1"], &[(V4, false)]),
            (&["[::1]"], &[(V6, false)]),
            (
                &["::1", "127.0.0.1", "[::1]", "::"],
                &[(V6, false), (V4, false), (any, false)],
            ),
        ] {
            let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
            assert_eq!(wanted(&hosts).unwrap(), expect, "{hosts:?}");
        }
    }

    /// A name can have an address of each family, and others.
    #[test]
    fn a_name_is_listened_on_at_each_of_its_addresses() {
        let found: Vec<IpAddr> = ("localhost", 0)
            .to_socket_addrs()
            .unwrap()
            .map(|found| found.ip())
            .collect();
        for hosts in [&["localhost"][..], &["localhost", "localhost"]] {
            let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
            let wanted = wanted(&hosts).unwrap();
            for address in &found {
                let count = wanted.iter().filter(|(known, _)| known == address).count();
                assert_eq!(count, 1, "{address} of {found:?}: {wanted:?}");
            }
            assert!(wanted.iter().all(|(address, _)| found.contains(address)), "{wanted:?}");
        }
    }

    /// A port that was asked for is tried once, and any port as often as a bound says. Other errors are final.
    #[test]
    fn another_free_port_is_tried() {
        const ADDRESS: SocketAddr = SocketAddr::new(V4, 1);
        let in_use = || ListenError::InUse(ADDRESS);
        let unbound = || ListenError::Unbound(ADDRESS, io::ErrorKind::PermissionDenied.into());
        for (port, failures, error, expected) in [
            (0, 0, in_use as fn() -> _, Ok(1)),
            (0, 1, in_use, Ok(2)),
            (0, ATTEMPTS - 1, in_use, Ok(ATTEMPTS)),
            (0, ATTEMPTS, in_use, Err(ATTEMPTS)),
            (0, 1, unbound as fn() -> _, Err(1)),
            (1, 0, in_use, Ok(1)),
            (1, 1, in_use, Err(1)),
            (8000, 1, in_use, Err(1)),
        ] {
            let mut attempts = 0;
            let bound = attempt(port, || {
                attempts += 1;
                if attempts <= failures { Err(error()) } else { Ok(()) }
            });
            let counted = if bound.is_ok() { Ok(attempts) } else { Err(attempts) };
            assert_eq!(counted, expected, "port {port}, {failures} failures: {bound:?}");
        }
    }

    #[test]
    fn all_addresses_have_one_port() {
        // The port may be taken at the second address.
        let bound = (0..ATTEMPTS).find_map(|_| bind_all(&[(V4, false), (V6, true)], 0).ok());
        let bound = bound.expect("a free port");
        let ports: Vec<u16> = bound.addresses.iter().map(SocketAddr::port).collect();
        assert!(ports.iter().all(|port| *port == ports[0]), "{ports:?}");
        assert_eq!(ports.len() + usize::from(bound.notice.is_some()), 2);
    }

    /// Connections of the loopback addresses use Reno, others the system's default.
    #[cfg(target_os = "linux")]
    #[test]
    fn connections_on_loopback_use_the_cheapest_congestion_control() {
        let control = |socket: &Socket| {
            let name = socket.tcp_congestion().unwrap();
            String::from_utf8(name).unwrap().trim_end_matches('\0').to_owned()
        };
        let default = control(&Socket::new(Domain::IPV4, Type::STREAM, None).unwrap());
        for (host, expected) in [(V4, "reno"), (Ipv4Addr::UNSPECIFIED.into(), &default)] {
            let listener = bind(SocketAddr::new(host, 0), false).unwrap();
            let mut local = listener.local_addr().unwrap();
            local.set_ip(V4);
            let client = std::net::TcpStream::connect(local).unwrap();
            let accepted = listener.accept().unwrap().0;
            assert_eq!(control(&accepted.into()), expected, "{host}");
            drop(client);
        }
    }

    /// Without one of the default addresses there is a note, and without one that was asked for an error.
    #[test]
    fn addresses_that_cannot_be_bound() {
        // A documentation address, which no machine has.
        let missing: IpAddr = "192.0.2.1".parse().unwrap();
        let bound = bind_all(&[(V4, false), (missing, true)], 0).unwrap();
        assert_eq!(bound.addresses.len(), 1);
        let notice = bound.notice.unwrap();
        assert!(notice.starts_with("not listening on 192.0.2.1: "), "{notice}");
        assert!(matches!(
            bind_all(&[(V4, false), (missing, false)], 0),
            Err(ListenError::Unbound(address, _)) if address.ip() == missing
        ));
        let taken = bound.addresses[0].port();
        assert!(matches!(bind_all(&[(V4, true)], taken), Err(ListenError::InUse(_))));
    }

    /// Each family has its own socket if both are asked for, in any order; otherwise `::` accepts both.
    #[test]
    fn unspecified_addresses_accept_their_families() {
        for (hosts, clients) in [
            (&["::", "0.0.0.0"][..], &["127.0.0.1", "::1"][..]),
            (&["0.0.0.0", "::"], &["127.0.0.1", "::1"]),
            (&["::"], &["127.0.0.1", "::1"]),
            (&["0.0.0.0"], &["127.0.0.1"]),
        ] {
            let names: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
            let listening = match listen(&names, 0) {
                Ok(listening) => listening,
                // The machine has no IPv6.
                Err(ListenError::Unbound(address, _)) if address.is_ipv6() => continue,
                Err(error) => panic!("{hosts:?}: {error}"),
            };
            assert_eq!(listening.sockets.len(), hosts.len());
            for client in clients {
                let ip: IpAddr = client.parse().unwrap();
                let _client = std::net::TcpStream::connect((ip, listening.addresses[0].port()))
                    .unwrap_or_else(|error| panic!("{client} at {hosts:?}: {error}"));
                let of_family = listening
                    .addresses
                    .iter()
                    .position(|bound| bound.is_ipv4() == ip.is_ipv4());
                let socket = &listening.sockets[of_family.unwrap_or_default()];
                socket.set_nonblocking(false).unwrap();
                let peer = socket.accept().unwrap().1;
                assert_eq!(peer.ip().to_canonical(), ip, "{hosts:?}");
            }
        }
    }

    /// The connections that a server has closed do not keep its port from the next one.
    #[cfg(unix)]
    #[test]
    fn a_restart_takes_over_its_port() {
        // Another program may take the port in between.
        let restarts = (0..3).any(|_| {
            let first = bind(SocketAddr::new(V4, 0), false).unwrap();
            let address = first.local_addr().unwrap();
            first.set_nonblocking(false).unwrap();
            let client = std::net::TcpStream::connect(address).unwrap();
            // The side that closes first keeps the port.
            drop(first.accept().unwrap());
            drop((client, first));
            bind(address, false).is_ok()
        });
        assert!(restarts);
    }

    /// The names of hosts that have no address, and sockets that cannot be bound, are named with their flags.
    #[test]
    fn errors_are_sentences() {
        let address = SocketAddr::new(V4, 8000);
        let denied = || io::Error::new(io::ErrorKind::PermissionDenied, "denied");
        for (error, expected) in [
            (
                ListenError::InUse(SocketAddr::new(V6, 8000)),
                "port 8000 of ::1 is in use by another program; stop it, or choose another port with --port",
            ),
            (
                ListenError::Unbound(address, denied()),
                "cannot listen on 127.0.0.1:8000: denied",
            ),
            (
                ListenError::UnknownHost("nowhere".into(), denied()),
                "--host nowhere has no address: denied",
            ),
            (ListenError::System(denied()), "cannot start the server: denied"),
        ] {
            assert_eq!(error.to_string(), expected);
        }
    }
}
