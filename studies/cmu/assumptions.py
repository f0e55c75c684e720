"""What the study `cmu` leaves open: as it is answered here, and otherwise, one thing at a time."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Assumption:
    """What is not known of its pages, its link and its machines."""

    html: int = 40_000
    """Bytes of the home page itself."""
    skew: float = 0.0
    """The standard deviation of the logarithm of the other objects' sizes; 0: all are alike."""
    is_deep: bool = False
    """Whether half of the objects are found in others, not in the HTML."""
    hosts: int = 1
    """Over how many names of the server the objects lie."""
    rtt_ms: int = 100
    queue: str = "50p"
    """That of dummynet, whose words the study has for its throttle: bandwidth, delay, loss."""
    tls: str = "1.0"
    client: str = "windows-7"
    server: str = "linux-2.6"


AS_IT_IS = Assumption()
ASSUMPTIONS: Mapping[str, Assumption] = {
    "a delay of 100 ms each way": Assumption(rtt_ms=200),
    "a queue of 100 packets": Assumption(queue="100p"),
    "a queue of 1,000 packets": Assumption(queue="1000p"),
    "TLS without False Start": Assumption(tls="1.2"),
    "a client with Linux": Assumption(client="linux-2.6"),
    "servers as Linux 3.7": Assumption(server="linux-3.7"),
    "HTML of 100 KB": Assumption(html=100_000),
    "sizes that differ widely": Assumption(skew=1.0),
    "half of the objects found in others": Assumption(is_deep=True),
    "objects on four names": Assumption(hosts=4),
    "objects on four names, a delay of 100 ms each way": Assumption(hosts=4, rtt_ms=200),
}
