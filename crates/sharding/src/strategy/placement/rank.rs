//! Order of the instances by a hash of the job's name (rendezvous hashing).

use crate::{InstanceAttributes, InstanceId, stable_hash};

/// Rank of each instance, by position: 0 comes first.
pub(super) struct Ranks(Vec<u32>);

impl Ranks {
    pub(super) fn of(&self, position: u32) -> u32 {
        self.0[position as usize]
    }
}

/// Ranks the instances for a job. An instance comes first with a probability in proportion to its
/// weight, and a further instance leaves the order of the others as it is.
pub(super) fn ranks(
    job_name: &str,
    instances: &[&InstanceId],
    attributes: &[&InstanceAttributes],
) -> Ranks {
    let score = |(id, attributes): (&&InstanceId, &&InstanceAttributes)| {
        let seed = stable_hash([job_name, id.as_str()]);
        // The least of as many hashes as the weight gives the share of the weight, in integers.
        (0..attributes.weight()).map(|replica| mixed(seed, replica)).min()
    };
    let scores: Vec<_> = instances.iter().zip(attributes).map(score).collect();
    let mut order: Vec<usize> = (0..instances.len()).collect();
    // The sort is stable, so that equal scores stay in the order of the instances.
    order.sort_by_key(|&position| scores[position]);
    let mut ranks = vec![0; instances.len()];
    for (rank, position) in (0_u32..).zip(order) {
        ranks[position] = rank;
    }
    Ranks(ranks)
}

/// Returns the score of a zone for a job, where all zones have the same share.
pub(super) fn zone_score(job_name: &str, zone: Option<&str>) -> u64 {
    mixed(stable_hash(["zone", job_name, zone.unwrap_or_default()]), 0)
}

/// Returns number `replica` of the `SplitMix64` sequence, because FNV mixes its last bytes weakly.
fn mixed(seed: u64, replica: u32) -> u64 {
    let mut z = seed.wrapping_add((u64::from(replica) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
