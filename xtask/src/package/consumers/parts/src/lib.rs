//! A program that needs strategies, cron expressions and the registry's contract alone. The
//! packages have long names; in code, their names are short.

#[cfg(test)]
mod tests {
    use reg_center::{Lifetime, MemoryRegistry, NodePath, RegistryCenter, Txn};
    use sharding::{InstanceId, ShardingItem, StrategyInput, StrategyRegistry};
    use trigger::{CronExpression, CronSchedule, Zone};

    #[test]
    fn strategy_divides_the_items() {
        let instances = ["10.0.0.2@-@9", "10.0.0.1@-@7"].map(InstanceId::from);
        let registry = StrategyRegistry::default();
        let average = registry.get("AVG_ALLOCATION").expect("it is built in");
        let assignment = average.assign(&StrategyInput::new("report", &instances, 3));
        assert_eq!(assignment.items_of(&instances[0]), [0, 2].map(ShardingItem::new));
    }

    #[test]
    fn cron_expression_has_a_next_fire() {
        let weekdays = CronExpression::parse("0 30 9 ? * MON-FRI").expect("it is valid");
        let zone = Zone::parse("Asia/Shanghai").expect("it exists");
        let friday = "2026-03-06T12:00:00+08:00".parse().expect("it is an instant");
        let next = CronSchedule::new(weekdays, zone).next_after(friday);
        assert_eq!(next, "2026-03-09T09:30:00+08:00".parse().ok());
    }

    #[tokio::test]
    async fn registry_keeps_a_node() {
        let registry = MemoryRegistry::new();
        let path = NodePath::parse("/report/config").expect("it is a path");
        let create = Txn::new().create(path.clone(), "{}", Lifetime::Persistent);
        registry.connect().commit(create).await.expect("the registry answers");
        let node = registry.connect().read(&path).await.expect("the registry answers");
        assert_eq!(node.expect("it exists").data.as_ref(), b"{}");
    }
}
