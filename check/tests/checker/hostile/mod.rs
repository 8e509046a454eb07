//! Small files that ask for much work: named templates, for a star of [`NODES`] nodes and a network of two or three
//! layers. Each is plain; compressed, nearly all are below 4 kB.

#![allow(dead_code, missing_docs)]

/// Nodes of the star, attributes, hidden units and classes.
pub const NODES: usize = 300;
pub const ATTRIBUTES: usize = 200;
pub const UNITS: usize = 16;
pub const CLASSES: usize = 3;

/// A file of proofs, by what it does.
pub struct Template {
    pub name: &'static str,
    /// For the network of three layers.
    pub deep: bool,
    pub text: String,
}

/// A header with these rules; what it states besides stands in `more`.
pub fn header(rules: &[&str], budget: &str, more: &str) -> String {
    let rules = rules.iter().map(|rule| format!("{rule:?}")).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"header":{{"version":2,"graph":"graph","model":"model","message_passing":[{rules}],"budget":{{{budget},"direction":"both"}},"classes":"predicted"{more}}}}}"#
    )
}

const BUDGET: &str = r#""global":3,"local":3"#;

/// The line of a node that is robust by these trees.
fn robust(node: usize, trees: &[String]) -> String {
    let trees: Vec<String> =
        trees.iter().enumerate().map(|(at, tree)| format!(r#"{{"class":{},"tree":[{tree}]}}"#, at + 1)).collect();
    format!(r#"{{"node":{{"id":{node},"class":0,"claim":{{"robust":[{}]}}}}}}"#, trees.join(","))
}

/// Every unit of representation 2 with something.
fn units(entry: impl Fn(usize, usize) -> String) -> String {
    let all = (0..NODES).flat_map(|m| (0..UNITS).map(move |j| (m, j)));
    all.map(|(m, j)| entry(m, j)).collect::<Vec<_>>().join(",")
}

/// A leaf with hints.
fn hints(text: &str) -> String {
    format!(r#"{{"hints":{{{text}}}}}"#)
}

/// A tree with so many splits on flips in a row, each with a short leaf as its first subtree, and `below` at the end.
fn chain(splits: usize, below: &str) -> String {
    let split = |at: usize| format!(r#"{{"flip":[{},{}]}},{{"leaf":{{}}}},"#, at / ATTRIBUTES, at % ATTRIBUTES);
    format!("{}{below}", (0..splits).map(split).collect::<String>())
}

/// The whole tree of splits on so many flips from `first` on, the same leaf everywhere.
fn whole_tree(first: usize, splits: usize, leaf: &str) -> String {
    if splits == 0 {
        return leaf.into();
    }
    let below = whole_tree(first + 1, splits - 1, leaf);
    format!(r#"{{"flip":[{},{}]}},{below},{below}"#, first / ATTRIBUTES, first % ATTRIBUTES)
}

/// All templates.
pub fn templates() -> Vec<Template> {
    let gcn = || header(&["gcn", "gcn"], BUDGET, "");
    let deep = || header(&["gcn"; 3], BUDGET, "");
    let digits = "7".repeat(4096);
    let number = |exponent: i32| format!(r#""{digits}p{exponent}""#);
    let lines = |header: String, lines: Vec<String>| {
        let count = lines.len();
        format!("{header}\n{}\n{{\"end\":{count}}}\n", lines.join("\n"))
    };
    let leaf = r#"{"leaf":{}}"#;
    let (open, hard) = (leaf.to_string(), r#"{"leaf":{"cap":true,"dual":2}}"#.to_string());
    let node = |trees: &[String]| robust(0, trees);
    let mut all = Vec::new();
    let mut add = |name: &'static str, deep: bool, text: String| all.push(Template { name, deep, text });

    // Headers.
    let poly = |list: &str| header(&[&format!("poly(gcn;{list})"), "gcn"], BUDGET, "");
    add("square of a rule", false, lines(poly("0,0,1"), vec![node(&[open.clone(), open.clone()])]));
    add("thirty thousand powers", false, lines(poly(&format!("{}1", "0,".repeat(30_000))), vec![]));
    add("powers with coefficients", false, lines(poly(&format!("{}1", "1,".repeat(30_000))), vec![]));
    add("a poly of a poly", false, lines(header(&["poly(poly(gcn;1,1);1,1)", "gcn"], BUDGET, ""), vec![]));
    add("a long rule", false, lines(header(&[&"x".repeat(60_000), "gcn"], BUDGET, ""), vec![]));
    add("many rules", false, lines(header(&vec!["gcn"; 9_000], BUDGET, ""), vec![]));
    let terms = vec!["gcn"; 8_000].join(" & ");
    add("many terms", false, lines(header(&[&terms, "gcn"], BUDGET, ""), vec![]));
    let frozen: Vec<String> = (0..12_000).map(|d| d.to_string()).collect();
    let budget = format!(r#"{BUDGET},"frozen_attributes":[{}]"#, frozen.join(","));
    add("many frozen attributes", false, lines(header(&["gcn", "gcn"], &budget, ""), vec![]));
    let local = vec!["18446744073709551615"; NODES].join(",");
    let budget = format!(r#""global":18446744073709551615,"local":[{local}]"#);
    add(
        "largest budgets",
        false,
        lines(header(&["gcn", "gcn"], &budget, ""), vec![node(&[hard.clone(), hard.clone()])]),
    );
    let deployed = r#","deployed":{"precision":53,"operator_error":[[4294967295],[4294967295]]}"#;
    add("deployed", false, lines(header(&["gcn", "gcn"], BUDGET, deployed), vec![node(&[open.clone(), open.clone()])]));

    // Lines.
    add("empty lines", false, format!("{}\n{}", gcn(), "\n".repeat(8 << 20)));
    add("a line without end", false, format!("{}\n{}", gcn(), " ".repeat(64 << 20)));
    add("an endless header", false, "{".repeat(64 << 20));
    add("the largest end", false, format!("{}\n{{\"end\":18446744073709551615}}\n", gcn()));
    let same = vec![node(&[hard.clone(), hard.clone()]); 20_000];
    add("a node again and again", false, lines(gcn(), same));
    let each = (0..NODES).map(|n| robust(n, &[hard.clone(), hard.clone()])).collect();
    add("every node", false, lines(gcn(), each));
    add("nested lists", false, format!("{}\n{}\n", gcn(), "[".repeat(4 << 20)));
    add("keys again and again", false, format!("{}\n{{{}\n", gcn(), r#""id":1,"#.repeat(500_000)));
    let reason = "\\u0041".repeat(1_000_000);
    add("a long reason", false, lines(gcn(), vec![format!(r#"{{"unproved":{{"id":1,"reason":"{reason}"}}}}"#)]));

    // Trees.
    add("leaves without end", false, lines(gcn(), vec![node(&[vec![leaf; 600_000].join(","), open.clone()])]));
    add("a deep tree", false, lines(gcn(), vec![node(&[chain(1024, &hard), open.clone()])]));
    let bushy = chain(1000, &whole_tree(1000, 14, leaf));
    add("a deep tree with many leaves", false, lines(gcn(), vec![node(&[bushy, open.clone()])]));
    add("a tree of many leaves", false, lines(gcn(), vec![node(&[whole_tree(0, 14, leaf), open.clone()])]));
    add("a tree of many hints", false, lines(gcn(), vec![node(&[whole_tree(0, 14, &hints("")), open.clone()])]));

    // Hints.
    let envelopes = units(|m, j| format!(r#"[{m},{j},"1p20000","1p-20000",[],[]]"#));
    add(
        "envelopes of all exponents",
        false,
        lines(gcn(), vec![node(&[hints(&format!(r#""envelopes":[{envelopes}]"#)), open.clone()])]),
    );
    let long = units(|m, j| format!("[{m},{j},{},{}]", number(20_000), number(-20_000)));
    let long =
        hints(&format!(r#""lines":[{}]"#, &long[..long.match_indices("],[").nth(400).map_or(0, |cut| cut.0 + 1)]));
    add("slopes of many digits", false, lines(gcn(), vec![node(&[long, open.clone()])]));
    let steep = units(|m, j| format!(r#"[{m},{j},"1p20000","1p-20000"]"#));
    add(
        "slopes of all exponents",
        false,
        lines(gcn(), vec![node(&[hints(&format!(r#""lines":[{steep}]"#)), open.clone()])]),
    );
    add(
        "a fine grid",
        false,
        lines(gcn(), vec![node(&[hints(&format!(r#""lines":[{steep}],"grid":-20000"#)), open.clone()])]),
    );
    let levels = units(|m, j| format!(r#"[{m},{j},"1p20000","1p-20000",["1p-20000",[]]]"#));
    add(
        "levels of all exponents",
        false,
        lines(gcn(), vec![node(&[hints(&format!(r#""levels":[{levels}]"#)), open.clone()])]),
    );
    let reach = units(|m, j| format!(r#"[{m},{j},["1p-20000",[]],["1p20000",[]]]"#));
    add(
        "prices of all exponents",
        false,
        lines(gcn(), vec![node(&[hints(&format!(r#""reach":[{reach}]"#)), open.clone()])]),
    );
    let prices: Vec<String> = (0..NODES).map(|n| format!(r#"[{n},"1p-20000"]"#)).collect();
    let prices = prices.join(",");
    let listed = (0..UNITS).map(|j| format!(r#"[0,{j},["1p20000",[{prices}]],[0,[{prices}]]]"#)).collect::<Vec<_>>();
    add(
        "prices of all nodes",
        false,
        lines(gcn(), vec![node(&[hints(&format!(r#""reach":[{}]"#, listed.join(","))), open.clone()])]),
    );
    let flips: Vec<String> = (0..ATTRIBUTES).map(|d| format!("[0,{d}]")).collect();
    let rho = vec!["9007199254740992"; ATTRIBUTES].join(",");
    let shares: Vec<String> = (0..NODES).map(|m| format!("[{m},0,1048576,0,[],[{rho}]]")).collect();
    let envelope = format!(
        r#"{{"leaf":{{"envelope":{{"e":-1074,"flips":[{}],"units":[{}]}}}}}}"#,
        flips.join(","),
        shares.join(",")
    );
    add("an envelope with all flips", false, lines(gcn(), vec![node(&[envelope, open.clone()])]));
    let witness: Vec<String> = (0..NODES).flat_map(|n| (0..ATTRIBUTES).map(move |d| format!("[{n},{d}]"))).collect();
    let witness = format!(
        r#"{{"node":{{"id":0,"class":0,"claim":{{"non_robust":{{"class":1,"flips":[{}]}}}}}}}}"#,
        witness.join(",")
    );
    add("a witness of all flips", false, lines(gcn(), vec![witness]));

    // Deeper networks.
    add("a false leaf above", true, lines(deep(), vec![node(&[hard.clone(), hard.clone()])]));
    let slopes = (0..UNITS).map(|j| format!(r#"[3,0,{j},"1p{}"]"#, if j % 2 == 0 { 20_000 } else { -20_000 }));
    let slopes = slopes.collect::<Vec<_>>().join(",");
    add("slopes above", true, lines(deep(), vec![node(&[hints(&format!(r#""slopes":[{slopes}]"#)), open.clone()])]));
    let many = vec!["{}"; 16].join(",");
    let bounds = |n: usize, hint: &str| {
        let units: Vec<String> = (0..UNITS).map(|j| format!("[{j},[{hint}],[{hint}]]")).collect();
        format!(r#"{{"bounds":{{"layer":3,"node":{n},"units":[{}]}}}}"#, units.join(","))
    };
    add("bounds with many hints", true, lines(deep(), (0..NODES).map(|n| bounds(n, &many)).collect()));
    let wide = r#"{"lines":[[0,0,"1p20000","1p-20000"]],"price":["1p-20000",[]]}"#;
    add("long bounds", true, lines(deep(), (0..NODES).map(|n| bounds(n, wide)).collect()));

    // One attack for the whole graph.
    let collective = |more: &str| {
        gcn().replacen("header", "collective", 1).replacen(",\"classes\"", &format!("{more},\"classes\""), 1)
    };
    let claim =
        |lines: u64| format!(r#"{{"claim":{{"bound":0,"price":18446744073709551615,"prices":[],"lines":{lines}}}}}"#);
    add("a claim of many lines", false, format!("{}\n{}\n", collective(""), claim(u64::MAX)));
    let shares: Vec<String> = (0..NODES)
        .map(|n| format!(r#"{{"share":{{"id":{n},"class":0,"weight":8388608,"size":8388608,"leaves":[]}}}}"#))
        .collect();
    add("shares of all nodes", false, format!("{}\n{}\n{}\n", collective(""), shares.join("\n"), claim(NODES as u64)));
    all
}
