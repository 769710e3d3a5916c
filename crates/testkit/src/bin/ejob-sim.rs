fn main() {
    let mut a = std::env::args().skip(1);
    let first: u64 = a.next().unwrap().parse().unwrap();
    let n: u64 = a.next().unwrap().parse().unwrap();
    let t = std::time::Instant::now();
    let judge = testkit::sim::Judge::Online;
    if n == 0 {
        let r = testkit::sim::run(&testkit::sim::Script::draw(first), judge, testkit::sim::Keep{history:false,story:true});
        println!("{}\n{:?}", r.story, r.violation);
        return;
    }
    let totals = testkit::sim::run_seeds(first, n, 1, judge);
    for (s, v) in totals.failures.iter().take(20) { println!("{s}: {v:?}"); }
    for (w, c) in totals.coverage.rows() { println!("{w} {c}"); }
    println!("{}", totals.summary(t.elapsed().as_secs_f64()));
}
