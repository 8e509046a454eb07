(* Extraction to OCaml. Trusted: that Zarith's integers are the integers, and these few lines. *)
From Coq Require Import ZArith List Extraction ExtrOcamlBasic.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Sound Floats Widen Menus Operators Collective Edges EdgesBound Joint Ranges Deployed DeployedRanges.

Extract Inlined Constant fst => "Stdlib.fst".
Extract Inlined Constant snd => "Stdlib.snd".
Extract Inductive nat => "int" ["0" "Stdlib.succ"] "(fun zero next n -> if n = 0 then zero () else next (n - 1))".
Extract Inductive positive => "Number.t"
  ["(fun p -> Number.succ (Number.shift_left p 1))" "(fun p -> Number.shift_left p 1)" "Number.one"]
  "(fun odd even one p -> if Number.equal p Number.one then one () else if Number.is_odd p then odd (Number.shift_right p 1) else even (Number.shift_right p 1))".
Extract Inductive Z => "Number.t" ["Number.zero" "(fun p -> p)" "Number.neg"]
  "(fun zero above below z -> let s = Number.sign z in if s = 0 then zero () else if s > 0 then above z else below (Number.neg z))".
Extract Constant Z.add => "Number.add".
Extract Constant Z.sub => "Number.sub".
Extract Constant Z.mul => "Number.mul".
Extract Constant Z.opp => "Number.neg".
Extract Constant Z.max => "Number.max".
Extract Constant Z.min => "Number.min".
Extract Constant Z.eqb => "Number.equal".
Extract Constant Z.leb => "Number.leq".
Extract Constant Z.ltb => "Number.lt".
(* Rounded downward; what is divided by 0, or has a power below 0, is as Coq has it. *)
Extract Constant Z.div => "(fun a b -> if Number.sign b = 0 then Number.zero else Number.fdiv a b)".
Extract Constant Z.modulo => "(fun a b -> if Number.sign b = 0 then a else Number.sub a (Number.mul b (Number.fdiv a b)))".
Extract Constant Z.pow => "(fun a b -> if Number.sign b < 0 then Number.zero else Number.pow a (Number.to_int b))".
Extract Constant Z.sqrt => "(fun a -> if Number.sign a < 0 then Number.zero else Number.sqrt a)".
Extract Constant Z.of_nat => "Number.of_int".
Extract Constant Z.to_nat => "(fun z -> if Number.sign z < 0 then 0 else Number.to_int z)".
Extract Constant Nat.eqb => "(fun (a : int) b -> a = b)".

Extraction "checker.ml" prepare no_rivals prepare_categories prepare_rows judge add_line no_bounds prepare_collective nothing_known take_line claim_holds prepare_changes judge_changes prepare_joint judge_joint prepare_ranges judge_ranges prepare_deployed prepare_deployed_rows prepare_deployed_categories judge_deployed prepare_deployed_ranges judge_deployed_ranges to_integer reciprocal reciprocal32 reciprocal_root.
