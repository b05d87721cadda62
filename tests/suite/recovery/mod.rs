//! Kills, power cuts, disk faults and clock jumps, and what the database holds afterwards.

mod backup;
