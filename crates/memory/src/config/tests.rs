use super::*;

const THREADS: ThreadCounts = ThreadCounts { ldm: 2, tc: 1, query: 2, main: 1, receive: 1, loggers: 2 };

fn data_memory(config: &MemoryConfig) -> u64 {
    config.region(Region::DataMemory).maximum
}

fn reserves(config: &MemoryConfig) -> u64 {
    Region::ALL.iter().map(|region| config.region(*region).reserved).sum()
}

#[test]
fn a_large_machine_gets_what_the_formulas_say() {
    let config = MemoryConfig::automatic(64 * 1024 * MIB, &THREADS, 4, &MemoryOverrides::default()).unwrap();
    let (transaction, shared, system) = (300 + 45 * 7, 700 + 75 * 7 + 32 + 12 * 6, 1200 + 15 * 7);
    assert_eq!(config.region(Region::TransactionMemory).reserved, transaction * MIB);
    assert_eq!(config.region(Region::RedoBuffer).reserved, 64 * MIB);
    assert_eq!(config.region(Region::SendBuffers).reserved, (8 + 14) * MIB);
    assert_eq!(config.total, (64 * 1024 - system) * MIB);
    let job = 7 * 6 + 14;
    let data = 64 * 1024 - system - transaction - shared - 64 - 22 - job;
    assert_eq!(data_memory(&config), data * MIB);
}

#[test]
fn a_small_machine_gets_half_of_it_for_data() {
    for mib in [64, 256, 512, 1024, 4096] {
        let config = MemoryConfig::automatic(mib * MIB, &THREADS, 4, &MemoryOverrides::default()).unwrap();
        assert!(data_memory(&config) >= mib * MIB / 2, "{mib}: {}", data_memory(&config) / MIB);
        assert!(reserves(&config) <= config.total && config.total <= mib * MIB);
        for region in [Region::TransactionMemory, Region::RedoBuffer, Region::JobBuffer, Region::SendBuffers]
        {
            assert!(config.region(region).reserved > 0);
        }
    }
    let too_small = MemoryConfig::automatic(32 * MIB, &THREADS, 4, &MemoryOverrides::default());
    assert_eq!(too_small, Err(ConfigError::TotalTooSmall));
}

#[test]
fn job_buffers_grow_with_the_threads_and_not_with_their_square() {
    let job = |cpus: u32| {
        // A worker per CPU, and a thread for `main`.
        let threads = ThreadCounts { ldm: 0, tc: 0, query: 0, main: 1, receive: cpus, loggers: cpus };
        let memory = u64::from(cpus) * 16 * 1024 * MIB;
        let config = MemoryConfig::automatic(memory, &threads, 2, &MemoryOverrides::default()).unwrap();
        assert!(data_memory(&config) >= config.total / 2, "{cpus} CPUs");
        assert_eq!(config.region(Region::RedoBuffer).reserved, u64::from(cpus) * 32 * MIB);
        config.region(Region::JobBuffer).reserved
    };
    assert_eq!([1, 2, 6, 7, 192].map(job), [6, 12, 56, 64, 1544].map(|mib| mib * MIB));
    for cpus in 2..=192 {
        assert!((1..=14 * MIB).contains(&(job(cpus) - job(cpus - 1))), "{cpus} CPUs");
    }
}

#[test]
fn what_the_operator_says_holds_or_is_refused() {
    let overrides = MemoryOverrides {
        data_memory: Some(100 * MIB),
        transaction_memory: Some(20 * MIB),
        ..Default::default()
    };
    let config = MemoryConfig::automatic(256 * MIB, &THREADS, 4, &overrides).unwrap();
    assert_eq!(data_memory(&config), 100 * MIB);
    assert_eq!(config.region(Region::TransactionMemory).reserved, 20 * MIB);
    let overrides = MemoryOverrides { data_memory: Some(250 * MIB), ..Default::default() };
    let refused = MemoryConfig::automatic(256 * MIB, &THREADS, 4, &overrides);
    assert!(matches!(refused, Err(ConfigError::ReservesAboveTotal { needed }) if needed > 250 * MIB));
}

#[test]
fn clients_have_a_quarter_of_what_is_shared_or_what_the_operator_says() {
    let config = MemoryConfig::automatic(512 * MIB, &THREADS, 4, &MemoryOverrides::default()).unwrap();
    let shared = config.total - reserves(&config);
    let clients = *config.region(Region::ClientMemory);
    assert_eq!((clients.reserved, clients.maximum), (0, shared / 4));
    let overrides = MemoryOverrides { client_memory: Some(96 * MIB), ..Default::default() };
    let config = MemoryConfig::automatic(512 * MIB, &THREADS, 4, &overrides).unwrap();
    let clients = *config.region(Region::ClientMemory);
    assert_eq!((clients.reserved, clients.maximum), (96 * MIB, 96 * MIB));
}
