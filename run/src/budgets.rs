//! Budgets of `gcnproof collective`: numbers of flips in all, as a list with ranges.

/// Budgets in rising order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budgets(Vec<usize>);

impl Budgets {
    /// Some budgets: each once.
    ///
    /// # Errors
    /// If there are none, or too many, or one is too large.
    pub fn new(mut budgets: Vec<usize>) -> Result<Budgets, String> {
        budgets.sort_unstable();
        budgets.dedup();
        match budgets.last() {
            None => Err("no budget is given".into()),
            Some(_) if budgets.len() > MOST => Err(format!("{} budgets are too many", budgets.len())),
            Some(&last) if i64::try_from(last).is_err() => Err(format!("a budget of {last} flips is too large")),
            Some(_) => Ok(Budgets(budgets)),
        }
    }

    /// The numbers.
    pub fn numbers(&self) -> &[usize] {
        &self.0
    }
}

/// Budgets that are asked for at most.
const MOST: usize = 100_000;

/// A list of budgets: `20`, `0-1000:50`, `0-100:20,200`.
///
/// # Errors
/// If it is none, in words.
pub fn budgets(list: &str) -> Result<Budgets, String> {
    let wrong = |part: &str, why: &str| {
        format!("'{part}' is no list of budgets: {why}; write numbers and ranges with a step, as 0,20,50 or 0-1000:50")
    };
    let number = |part: &str, text: &str| -> Result<usize, String> {
        text.trim().parse().map_err(|_| wrong(part, &format!("'{}' is no whole number, 0 or more", text.trim())))
    };
    let mut found = Vec::new();
    for part in list.split(',') {
        if part.trim().parse::<i64>().is_ok_and(|number| number < 0) {
            return Err(wrong(part, "a budget is 0 or more"));
        }
        let Some((first, rest)) = part.split_once('-') else {
            if part.contains(':') {
                return Err(wrong(part, "a step needs a range before it"));
            }
            found.push(number(part, part)?);
            continue;
        };
        let (last, step) = rest.split_once(':').map_or((rest, None), |(last, step)| (last, Some(step)));
        let (first, last) = (number(part, first)?, number(part, last)?);
        let step = step.map_or(Ok(1), |step| number(part, step))?;
        if step == 0 {
            return Err(wrong(part, "a step of 0 leads nowhere"));
        }
        if first > last {
            return Err(wrong(part, &format!("{first} is more than {last}")));
        }
        if (last - first) / step >= MOST {
            return Err(wrong(part, "these are too many budgets"));
        }
        found.extend((first..=last).step_by(step));
    }
    Budgets::new(found).map_err(|problem| wrong(list, &problem))
}
