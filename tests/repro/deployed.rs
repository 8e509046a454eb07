//! False statements about the network as it runs.
