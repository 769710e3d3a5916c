//! Shares of instances and zones, rounded to whole items.
//!
//! All numbers are fractions of integers, so that every machine computes the same shares.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// An instance that may own the items.
pub(super) struct Candidate<'a> {
    pub(super) weight: u32,
    pub(super) zone: Option<&'a str>,
    /// Items that it already has, which count towards its share.
    pub(super) load: u32,
    /// Items to distribute that it owned until now.
    pub(super) held: u32,
    /// Position in the order in which shares are rounded up. All ranks differ.
    pub(super) rank: u32,
}

/// The instances of a zone.
struct Zone {
    /// Indices of the candidates.
    members: Vec<usize>,
    weight: u128,
    load: u128,
    rank: u64,
}

/// The items of an instance beyond its load: the share rounded down, and whether it has a rest.
#[derive(Clone, Copy, Default)]
struct Share {
    least: u32,
    has_rest: bool,
}

/// The shares of the instances of a zone, to be rounded.
struct Rounding {
    shares: Vec<(usize, Share)>,
    /// Number of shares that are rounded up.
    extra: u128,
    /// True if one more share rounded up saves a move.
    saves_move: bool,
    rank: u64,
}

/// Returns the number of the `n_items` items that each candidate gets.
///
/// `even` returns the rank of a zone if all zones have the same share.
pub(super) fn quotas(
    candidates: &[Candidate<'_>],
    n_items: u32,
    even: Option<impl Fn(Option<&str>) -> u64>,
) -> Vec<u32> {
    let mut quotas = vec![0; candidates.len()];
    if candidates.is_empty() {
        return quotas;
    }
    // With fewer items than instances, the hash alone decides which instances get one. Kept items
    // would gather on the instances that have not restarted for the longest time.
    let prefers_holders = n_items as usize >= candidates.len();
    let keeps =
        |index: &usize, share: &Share| prefers_holders && candidates[*index].held > share.least;
    let zones = zones(candidates, even);
    let sharing = sharing(u128::from(n_items), &zones, |zone| (zone.weight, zone.load));
    let total = u128::from(n_items) + sharing.iter().map(|zone| zone.load).sum::<u128>();
    let weight: u128 = sharing.iter().map(|zone| zone.weight).sum();
    let mut extra_zones = total;
    let mut rounded: Vec<Rounding> = Vec::new();
    let mut with_rest: Vec<usize> = Vec::new();
    for zone in sharing {
        let numerator = total * zone.weight;
        let shares = member_shares(candidates, zone, numerator, weight);
        let taken: u128 = shares.iter().map(|(_, share)| u128::from(share.least)).sum();
        // Members above their share are in `load`, and take nothing.
        let extra = numerator / weight - zone.load - taken;
        extra_zones -= numerator / weight;
        let n_keep = shares.iter().filter(|(i, share)| share.has_rest && keeps(i, share)).count();
        if numerator % weight != 0 {
            with_rest.push(rounded.len());
        }
        let saves_move = n_keep as u128 > extra;
        rounded.push(Rounding { shares, extra, saves_move, rank: zone.rank });
    }
    with_rest.sort_by_key(|&zone| (Reverse(rounded[zone].saves_move), rounded[zone].rank));
    for (_, zone) in (0..extra_zones).zip(with_rest) {
        rounded[zone].extra += 1;
    }
    for Rounding { mut shares, extra, .. } in rounded {
        shares.sort_by_key(|(index, share)| {
            (!share.has_rest, Reverse(keeps(index, share)), candidates[*index].rank)
        });
        for (n, (index, share)) in (0_u128..).zip(shares) {
            quotas[index] = share.least + u32::from(n < extra);
        }
    }
    quotas
}

/// Returns the zones of the candidates, in the order of their names.
fn zones(candidates: &[Candidate<'_>], even: Option<impl Fn(Option<&str>) -> u64>) -> Vec<Zone> {
    let mut zones: BTreeMap<Option<&str>, Zone> = BTreeMap::new();
    for (index, candidate) in candidates.iter().enumerate() {
        let zone = zones.entry(candidate.zone).or_insert_with(|| Zone {
            members: Vec::new(),
            weight: 0,
            load: 0,
            rank: u64::MAX,
        });
        zone.members.push(index);
        zone.load += u128::from(candidate.load);
        match &even {
            Some(rank) => (zone.weight, zone.rank) = (1, rank(candidate.zone)),
            None => {
                zone.weight += u128::from(candidate.weight);
                // A zone comes first as often as one of its instances does.
                zone.rank = zone.rank.min(candidate.rank.into());
            }
        }
    }
    zones.into_values().collect()
}

/// Returns those that are below their share, by weight, of the loads and of `n` further items. The
/// others take no items, and their loads count towards no share.
fn sharing<T>(n: u128, all: &[T], weight_and_load: impl Fn(&T) -> (u128, u128)) -> Vec<&T> {
    let mut sharing: Vec<&T> = all.iter().collect();
    loop {
        let sums = sharing.iter().map(|it| weight_and_load(it));
        let (weight, load) = sums.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        let before = sharing.len();
        sharing.retain(|it| {
            let (own_weight, own_load) = weight_and_load(it);
            own_load * weight <= (n + load) * own_weight
        });
        if sharing.len() == before {
            return sharing;
        }
    }
}

/// Returns the shares of the members of a zone whose own share is `numerator / denominator`.
/// Members above their share are left out.
fn member_shares(
    candidates: &[Candidate<'_>],
    zone: &Zone,
    numerator: u128,
    denominator: u128,
) -> Vec<(usize, Share)> {
    // All loads times the denominator, so that the share of the zone is an integer.
    let free = numerator - zone.load * denominator;
    let scaled = |index: &usize| {
        let candidate = &candidates[*index];
        (u128::from(candidate.weight), u128::from(candidate.load) * denominator)
    };
    let members = sharing(free, &zone.members, scaled);
    let sums = members.iter().map(|index| scaled(index));
    let (weight, load) = sums.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let share = |index: &usize| {
        let candidate = &candidates[*index];
        let (numerator, denominator) =
            ((free + load) * u128::from(candidate.weight), denominator * weight);
        let least = numerator / denominator - u128::from(candidate.load);
        let least = u32::try_from(least).expect("a share has at most all items");
        (*index, Share { least, has_rest: numerator % denominator != 0 })
    };
    members.into_iter().map(share).collect()
}
