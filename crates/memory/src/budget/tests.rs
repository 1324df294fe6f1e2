use super::*;
use crate::{Holding, Ledger, MIB};
use stdx::Prng;

/// 1000 MiB, of which all but the reserves are shared: 600 MiB, and 20 MiB of the job and send buffers' reserve for
/// emergencies.
fn config() -> MemoryConfig {
    let reserves = [
        (Region::DataMemory, 300),
        (Region::RedoBuffer, 20),
        (Region::JobBuffer, 10),
        (Region::SendBuffers, 30),
        (Region::TransactionMemory, 40),
    ];
    let reserve =
        |region| reserves.iter().find(|(named, _)| *named == region).map_or(0, |(_, mib)| mib * MIB);
    MemoryConfig::new(1000 * MIB, reserve).unwrap()
}

/// How many MiB a region gets while the others have `others` MiB of shared memory.
fn reach(region: Region, others: u64) -> u64 {
    let memory = MemoryManager::new(config());
    // The job buffer may take all.
    if others > 0 {
        memory.try_charge_with(Region::JobBuffer, (5 + others) * MIB, Urgency::Normal).unwrap();
    }
    let mut taken = 0;
    while memory.try_charge_with(region, MIB, Urgency::Normal).is_ok() {
        taken += 1;
    }
    taken
}

#[test]
fn every_region_reaches_as_far_as_the_design_says() {
    // (region, alone, with 300 MiB of shared memory in use by others, with 530 MiB, with 570 MiB, with 600 MiB)
    let table = [
        // Fixed: its reserve, but for the last 5 % of DataMemory.
        (Region::DataMemory, [285, 285, 285, 285, 285]),
        (Region::RedoBuffer, [20, 20, 20, 20, 20]),
        (Region::DiskPageBufferCache, [0, 0, 0, 0, 0]),
        // Highest to 20 % of shared (120 MiB), then high (up to 576 MiB); its own half reserve is 15 MiB.
        (Region::SendBuffers, [591, 291, 105, 65, 35]),
        (Region::BackupSchemaMemory, [576, 276, 90, 50, 20]),
        // Reserve 40, high to 50 % of shared (300), then low (up to 540).
        (Region::TransactionMemory, [580, 316, 86, 46, 40]),
        (Region::ReplicationMemory, [540, 240, 46, 6, 0]),
        // At most 20 % of shared, never in the last 10 %.
        (Region::SchemaMemory, [120, 120, 10, 0, 0]),
        (Region::SchemaTransactionMemory, [576, 276, 46, 6, 0]),
        (Region::QueryMemory, [540, 240, 10, 0, 0]),
        // Three quarters of 25 % of shared, never in the last 10 %.
        (Region::ClientMemory, [112, 112, 10, 0, 0]),
        // Highest to 10 % (60), high to 30 % (180), then low.
        (Region::DiskOperationRecords, [540, 240, 60, 50, 20]),
    ];
    for (region, expected) in table {
        let reached = [0, 300, 530, 570, 600].map(|others| reach(region, others));
        assert_eq!(reached, expected, "{}", region.name());
    }
    // All of shared memory and the emergency part, beside its own half reserve.
    assert_eq!(reach(Region::JobBuffer, 0), 5 + 620);
}

#[test]
fn a_restart_may_borrow_of_shared_memory() {
    let reach = |urgency| {
        let memory = MemoryManager::new(config());
        let mut taken = 0;
        while memory.try_charge_with(Region::DataMemory, MIB, urgency).is_ok() {
            taken += 1;
        }
        (memory, taken)
    };
    assert_eq!(reach(Urgency::Normal).1, 285);
    assert_eq!(reach(Urgency::Replica).1, 300);
    let (memory, taken) = reach(Urgency::Restart);
    assert_eq!(taken, 324, "8 % more than DataMemory");
    // The others have less of what is shared, and statements no more DataMemory.
    let mut query = 0;
    while memory.try_charge_with(Region::QueryMemory, MIB, Urgency::Normal).is_ok() {
        query += 1;
    }
    assert_eq!(query, 540 - 24);
    memory.release(Region::DataMemory, 35 * MIB);
    let refused = Err(RegionFull { region: Region::DataMemory });
    assert_eq!(memory.try_charge_with(Region::DataMemory, MIB, Urgency::Normal), refused);
    assert!(memory.try_charge_with(Region::DataMemory, MIB, Urgency::Replica).is_ok());
    memory.release(Region::DataMemory, 290 * MIB);
    memory.release(Region::QueryMemory, query * MIB);
    assert_eq!(memory.used_in_all(), 0);
}

#[test]
fn shares_rise_and_priorities_fall() {
    for region in Region::ALL {
        let shares = region.shares();
        assert!(shares.is_sorted_by(|left, right| left.0 < right.0 && left.1 > right.1));
        assert!(shares.iter().all(|(percent, _)| *percent <= 100));
        assert_eq!(Region::ALL[region.index()], region);
    }
    for region in [Region::JobBuffer, Region::SendBuffers, Region::BackupSchemaMemory] {
        assert!(region.shares().iter().all(|(_, priority)| *priority >= Priority::High));
    }
}

#[test]
fn the_sum_never_exceeds_the_total_and_everything_comes_back() {
    let memory = MemoryManager::new(config());
    let mut prng = Prng::new(1);
    let mut charges: Vec<(Region, u64)> = Vec::new();
    for _ in 0..20_000 {
        let region = Region::ALL[prng.index(Region::COUNT)];
        let bytes = prng.below(8 * MIB);
        if prng.chance(1, 3) && !charges.is_empty() {
            let (region, bytes) = charges.swap_remove(prng.index(charges.len()));
            memory.release(region, bytes);
        } else if memory.try_charge_with(region, bytes, Urgency::Normal).is_ok() {
            charges.push((region, bytes));
        }
        assert!(memory.used_in_all() <= 1000 * MIB);
    }
    assert!(charges.len() > 50);
    for (region, bytes) in charges {
        memory.release(region, bytes);
    }
    assert_eq!(memory.used_in_all(), 0);
    assert_eq!(reach(Region::QueryMemory, 0), 540);
    let rows = memory.resources();
    assert_eq!(rows.len(), Region::COUNT);
    assert!(rows.iter().all(|row| row.used == 0 && row.high_water <= row.maximum));
    let data = &rows[0];
    assert_eq!((data.name, data.reserved, data.maximum), ("DataMemory", 9600, 9600));
    assert_eq!(data.spare, 480);
}

#[test]
fn a_ledger_takes_pages_and_gives_them_back() {
    let memory = MemoryManager::new(config());
    let mut ledger = Ledger::new(Arc::clone(&memory), Region::QueryMemory);
    ledger.charge(10).unwrap();
    ledger.charge(100).unwrap();
    assert_eq!(memory.used(Region::QueryMemory), PAGE_BYTES as u64);
    ledger.charge(10 * MIB).unwrap();
    assert!(memory.used(Region::QueryMemory) >= 10 * MIB);
    assert_eq!(ledger.charge(600 * MIB), Err(RegionFull { region: Region::QueryMemory }));
    assert_eq!(ledger.charge(u64::MAX), Err(RegionFull { region: Region::QueryMemory }));
    ledger.release(10 * MIB);
    assert_eq!(ledger.used(), 110);
    assert!(memory.used(Region::QueryMemory) <= 3 * PAGE_BYTES as u64);
    drop(ledger);
    assert_eq!(memory.used(Region::QueryMemory), 0);
}

#[test]
fn holdings_of_one_ledger_come_and_go_alone() {
    let memory = MemoryManager::new(config());
    let mut ledger = Ledger::new(Arc::clone(&memory), Region::ClientMemory);
    let (mut large, mut small) = (Holding::default(), Holding::default());
    ledger.bring(&mut small, 1_000).unwrap();
    ledger.bring(&mut large, 112 * MIB).unwrap();
    assert_eq!(ledger.used(), 112 * MIB + 1_000);
    // A refusal leaves everything as it was.
    assert_eq!(ledger.bring(&mut small, 20 * MIB), Err(RegionFull { region: Region::ClientMemory }));
    assert_eq!((small.bytes(), large.bytes()), (1_000, 112 * MIB));
    // The last quarter is for owners that have little.
    let mut others: Vec<Holding> = (0..2_000).map(|_| Holding::default()).collect();
    for other in &mut others {
        ledger.bring(other, 16_000).unwrap();
    }
    for other in &mut others {
        ledger.bring(other, 0).unwrap();
    }
    ledger.bring(&mut large, 0).unwrap();
    ledger.bring(&mut small, 20 * MIB).unwrap();
    assert_eq!(ledger.used(), 20 * MIB);
    ledger.bring(&mut small, 0).unwrap();
    assert!(memory.used(Region::ClientMemory) <= 2 * PAGE_BYTES as u64);
    drop(ledger);
    assert_eq!(memory.used(Region::ClientMemory), 0);
}
