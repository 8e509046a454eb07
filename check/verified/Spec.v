(* What is claimed: networks, flips, admissible sets, robustness; in rational numbers, with nothing that a checker does. *)
From Coq Require Export QArith Qabs Qminmax List ZArith Bool Permutation.
Export ListNotations.
Open Scope Q_scope.
Set Implicit Arguments.

(* Nodes, attributes, units and classes are integers; ids n = 0, 1, ..., n-1. *)
Fixpoint counting (from : Z) (count : nat) : list Z := match count with O => [] | S more => from :: counting (from + 1)%Z more end.
Definition ids (n : Z) : list Z := counting 0 (Z.to_nat n).
Definition sum {A} (over : list A) (f : A -> Q) : Q := fold_right (fun a rest => f a + rest) 0 over.

(* A term of a layer: for each receiving node the nodes that it receives from, with the operator's entries; and a weight for each
   input and output. A layer is a sum of terms and a bias for each node and unit; some of its units have a relu, the others none.
   A network is its layers, the last one first. *)
Record term (number : Type) := { operator : Z -> list (Z * number); weight : Z -> Z -> number }.
Record layer (number : Type) := { terms : list (term number); inputs : Z; bias : Z -> Z -> number; relu : Z -> bool }.
Definition network number := list (layer number).

(* What unit i of the last layer passes on if its pre-activation is z; attributes are passed on as they are. *)
Definition passed_on (net : network Q) (i : Z) (z : Q) : Q := match net with last :: _ => if relu last i then (if Qle_bool 0 z then z else 0) else z | [] => z end.

Definition rows := Z -> Z -> Q. (* What the first layer reads: a number for each node and attribute. *)
Definition numbers (X : Z -> Z -> bool) : rows := fun n d => if X n d then 1 else 0.

(* The pre-activation of unit j of node m in the last layer, on rows X; without layers, the attribute itself. *)
Fixpoint preactivation (net : network Q) (X : rows) (m j : Z) : Q :=
  match net with
  | [] => X m j
  | last :: below =>
      bias last m j + sum (terms last) (fun t => sum (operator t m) (fun entry => snd entry * sum (ids (inputs last)) (fun i => passed_on below i (preactivation below X (fst entry) i) * weight t i j)))
  end.

(* Node t keeps class y of `classes` whatever rows an attacker makes; or loses it to another class (or ties with it). *)
Definition robust (net : network Q) (made : rows -> Prop) (classes t y : Z) : Prop :=
  forall X, made X -> forall other, (0 <= other < classes)%Z -> other <> y -> preactivation net X t other < preactivation net X t y.
Definition broken (net : network Q) (made : rows -> Prop) (classes t y : Z) : Prop :=
  exists X other, made X /\ (0 <= other < classes)%Z /\ other <> y /\ preactivation net X t y < preactivation net X t other.
Definition tied (net : network Q) (made : rows -> Prop) (classes t y : Z) : Prop :=
  exists X other, made X /\ (0 <= other < classes)%Z /\ other <> y /\ preactivation net X t y == preactivation net X t other.

(* Class y is the predicted one on the rows of the graph: the largest logit, the smallest number among equals. *)
Definition predicted (net : network Q) (X : rows) (classes t y : Z) : Prop :=
  (0 <= y < classes)%Z /\ forall other, (0 <= other < classes)%Z -> other <> y ->
  preactivation net X t other < preactivation net X t y \/ (preactivation net X t other == preactivation net X t y /\ (y < other)%Z).

(* Who may flip what: the attributes, the flips permitted, at most `total` flips in all and at most `each n` of node n. *)
Record problem := { attributes : Z -> Z -> bool; count : Z; permitted : Z -> Z -> bool; total : Z; each : Z -> Z }.
Definition flip := (Z * Z)%type.
Definition same (f g : flip) : bool := Z.eqb (fst f) (fst g) && Z.eqb (snd f) (snd g).
Definition of_node (n : Z) (F : list flip) : list flip := filter (fun f => Z.eqb (fst f) n) F.
Definition size (F : list flip) : Z := Z.of_nat (length F).
Definition admissible (P : problem) (F : list flip) : Prop :=
  NoDup F /\ (forall f, In f F -> permitted P (fst f) (snd f) = true /\ (0 <= snd f < count P)%Z) /\
  (size F <= total P)%Z /\ (forall f, In f F -> size (of_node (fst f) F) <= each P (fst f))%Z.

(* Attributes after flips: present where it was and is not flipped, or was not and is. *)
Definition flipped (X : Z -> Z -> bool) (F : list flip) (n d : Z) : bool :=
  if existsb (same (n, d)) F then negb (X n d) else X n d.

(* The rows that an attacker makes by flips. *)
Definition by_flips (P : problem) (X : rows) : Prop := exists F, admissible P F /\ X = numbers (flipped (attributes P) F).

(* Rows divided by their sums: each attribute that a node has is read as the share of the number of those that it has. *)
Definition divided_by (share : Z -> Q) (count : Z) (X : Z -> Z -> bool) : rows :=
  fun n d => if X n d then share (Z.of_nat (length (filter (X n) (ids count)))) else 0.
Definition by_flips_divided (P : problem) (share : Z -> Q) (X : rows) : Prop :=
  exists F, admissible P F /\ X = divided_by share (count P) (flipped (attributes P) F).

(* Categories: attributes with a group from 0 to groups-1, of which a row has one, or none if a row of the graph has none. The
   attacker puts other categories into rows: at most `total` in all and at most `each n` into row n. *)
Record grouping := { group_of : Z -> Z; groups : Z; nodes_of : Z }.
Definition lacks (P : problem) (G : grouping) (X : Z -> Z -> bool) (n g : Z) : Prop :=
  forall d, (0 <= d < count P)%Z -> group_of G d = g -> X n d = false.
Definition differs (P : problem) (G : grouping) (Y : Z -> Z -> bool) (n g : Z) : bool :=
  existsb (fun d => Z.eqb (group_of G d) g && xorb (attributes P n d) (Y n d)) (ids (count P)).
Definition changed (P : problem) (G : grouping) (Y : Z -> Z -> bool) (n : Z) : list Z := filter (differs P G Y n) (ids (groups G)).
Definition recategorised (P : problem) (G : grouping) (Y : Z -> Z -> bool) : Prop :=
  (forall n d, Y n d <> attributes P n d -> (0 <= n < nodes_of G)%Z /\ (0 <= d < count P)%Z /\ (0 <= group_of G d < groups G)%Z /\ permitted P n d = true) /\
  (forall n g d e, (0 <= n < nodes_of G)%Z -> (0 <= g < groups G)%Z -> (0 <= d < count P)%Z -> (0 <= e < count P)%Z ->
    group_of G d = g -> group_of G e = g -> Y n d = true -> Y n e = true -> d = e) /\
  (forall n g, (0 <= n < nodes_of G)%Z -> (0 <= g < groups G)%Z -> lacks P G Y n g -> exists m, (0 <= m < nodes_of G)%Z /\ lacks P G (attributes P) m g) /\
  (forall n, (0 <= n < nodes_of G)%Z -> changed P G Y n = [] \/ Z.of_nat (length (changed P G Y n)) <= each P n)%Z /\
  (Z.of_nat (length (flat_map (changed P G Y) (ids (nodes_of G)))) <= total P)%Z.
Definition by_categories (P : problem) (G : grouping) (X : rows) : Prop := exists Y, recategorised P G Y /\ X = numbers Y.

(* Attributes that are numbers. The attacker moves entries of the rows x within ranges: admissible ones, for the budgets of P (whose own attributes
   play no part); every other entry stays what it is. *)
Definition by_ranges (P : problem) (x low high : rows) (X : rows) : Prop :=
  exists C, admissible P C /\ (forall n d, In (n, d) C -> low n d <= X n d <= high n d) /\ (forall n d, ~ In (n, d) C -> X n d == x n d).

(* One attack for the whole graph: admissible flips, in the rows of at most so many nodes where that is limited. It breaks the prediction
   of node t, if that counts, if afterwards the logit of another class is at least as large. *)
Definition attack (P : problem) (most : option Z) (F : list flip) : Prop :=
  admissible P F /\ match most with Some m => exists nodes, (Z.of_nat (length nodes) <= m)%Z /\ forall f, In f F -> In (fst f) nodes | None => True end.
Definition breaks (net : network Q) (P : problem) (classes : Z) (counts : Z -> Z -> bool) (F : list flip) (t : Z) : Prop :=
  exists y other, predicted net (numbers (attributes P)) classes t y /\ counts t y = true /\ (0 <= other < classes)%Z /\ other <> y /\
  preactivation net (numbers (flipped (attributes P) F)) t y <= preactivation net (numbers (flipped (attributes P) F)) t other.

(* Of the predictions of nodes 0, 1, ..., nodes-1 no attack breaks more than so many. *)
Definition breaks_at_most (net : network Q) (P : problem) (most : option Z) (classes nodes : Z) (counts : Z -> Z -> bool) (bound : Z) : Prop :=
  forall F T, attack P most F -> NoDup T -> (forall t, In t T -> (0 <= t < nodes)%Z /\ breaks net P classes counts F t) ->
  (Z.of_nat (length T) <= bound)%Z.

(* Networks whose operators follow from a graph: of each node the nodes that it receives from, itself left out. What a term passes on is the
   same whatever the edges are (identity, readouts); or a node receives from its row, and from itself where the rule or a loop says so, with
   entries by the number of those that it receives from, its size, or by its size and the sender's. *)
Definition graph := Z -> list Z.
Inductive rule (number : Type) :=
| Fixed (rows : Z -> list (Z * number)) | ByReceiver (itself : Z -> bool) (entry : Z -> number) | ByBoth (itself : Z -> bool) (entry : Z -> Z -> number).
Definition received (itself : Z -> bool) (g : graph) (v : Z) : list Z := if itself v then v :: g v else g v.
Definition size_of (itself : Z -> bool) (g : graph) (v : Z) : Z := Z.of_nat (length (received itself g v)).
Definition by_rule {number} (r : rule number) (g : graph) (v : Z) : list (Z * number) := match r with
  | Fixed rows => rows v
  | ByReceiver itself entry => map (fun u => (u, entry (size_of itself g v))) (received itself g v)
  | ByBoth itself entry => map (fun u => (u, entry (size_of itself g v) (size_of itself g u))) (received itself g v)
  end.
Record ruled (number : Type) := { ruled_terms : list (rule number * (Z -> Z -> number)); ruled_inputs : Z; ruled_bias : Z -> Z -> number; ruled_relu : Z -> bool }.
Definition layer_on {number} (g : graph) (l : ruled number) : layer number :=
  {| terms := map (fun p => {| operator := by_rule (fst p) g; weight := snd p |}) (ruled_terms l); inputs := ruled_inputs l; bias := ruled_bias l; relu := ruled_relu l |}.
Definition on_graph {number} (net : list (ruled number)) (g : graph) : network number := map (layer_on g) net.

(* Who may change which edges of a graph on nodes 0, 1, ..., node_count-1: an edge (i, j) is the arc from i to j, by which j receives from i; and
   where edges are not directed also the arc from j to i, and then i < j. A change removes the arcs that are there and inserts those that are not.
   It counts at j, and where edges are not directed at i as well: at most most_changes in all, at most most_at v at node v, and where nodes keep one
   of their edges, removals of at most all but one. *)
Record edge_problem := { graph_of : graph; node_count : Z; directed : bool; may_change : Z -> Z -> bool; most_changes : Z; most_at : Z -> Z; keeps_one : bool }.
Definition edge := (Z * Z)%type.
Definition arcs (E : edge_problem) (C : list edge) : list edge := if directed E then C else C ++ map (fun c => (snd c, fst c)) C.
Definition changed_graph (E : edge_problem) (C : list edge) : graph := fun v =>
  filter (fun u => negb (existsb (same (u, v)) (arcs E C))) (graph_of E v) ++
  filter (fun u => negb (existsb (Z.eqb u) (graph_of E v))) (map fst (filter (fun a => Z.eqb (snd a) v) (arcs E C))).
Definition counted_at (E : edge_problem) (v : Z) (C : list edge) : list edge :=
  filter (fun c => Z.eqb (snd c) v || (negb (directed E) && Z.eqb (fst c) v)) C.
Definition removals (E : edge_problem) (C : list edge) : list edge := filter (fun c => existsb (Z.eqb (fst c)) (graph_of E (snd c))) C.

Definition admissible_changes (E : edge_problem) (C : list edge) : Prop :=
  NoDup C /\ (size C <= most_changes E)%Z /\
  (forall c, In c C -> (0 <= fst c < node_count E)%Z /\ (0 <= snd c < node_count E)%Z /\ fst c <> snd c /\
    (directed E = true \/ (fst c < snd c)%Z) /\ may_change E (fst c) (snd c) = true) /\
  (forall v, counted_at E v C = [] \/ ((size (counted_at E v C) <= most_at E v)%Z /\
    (keeps_one E = true -> size (removals E (counted_at E v C)) <= Z.max 0 (Z.of_nat (length (graph_of E v)) - 1))%Z)).

(* What is claimed on every graph that changes make, or on one of them: of rows X that stay as they are (`eq X`), or of those that the same attacker
   makes, whatever changes are (`by_flips P`). *)
Definition robust_on (net : graph -> network Q) (E : edge_problem) (made : rows -> Prop) (classes t y : Z) : Prop := forall C, admissible_changes E C -> robust (net (changed_graph E C)) made classes t y.
Definition broken_on (net : graph -> network Q) (E : edge_problem) (made : rows -> Prop) (classes t y : Z) : Prop := exists C, admissible_changes E C /\ broken (net (changed_graph E C)) made classes t y.
Definition tied_on (net : graph -> network Q) (E : edge_problem) (made : rows -> Prop) (classes t y : Z) : Prop := exists C, admissible_changes E C /\ tied (net (changed_graph E C)) made classes t y.

(* Executions in floating point: significands of `precision` bits, the exponents of binary32, subnormal numbers taken for 0 or not, rows read as they are or
   rounded. What results from x within the range is near x, or x itself, as where a product is fused; and what is read is wrong by so many units. *)
Record arithmetic := { precision : Z; flushes : bool; reads_exactly : bool }.
Definition becomes (A : arithmetic) (units : nat) (x y : Q) : Prop := let u := / inject_Z (2 ^ precision A) in Qabs x < inject_Z (2 ^ 127) ->
  (x == 0 -> y == 0) /\ Qabs (y - x) <= inject_Z (Z.of_nat units) * u * Qabs x + (if flushes A then 1 else u) * / inject_Z (2 ^ 126).
Inductive summed (A : arithmetic) : list Q -> Q -> Prop := (* in any order; adding 0 changes nothing *)
| no_summand : summed A [] 0 | one_summand x : summed A [x] x | reordered l r x : Permutation l r -> summed A l x -> summed A r x
| two_sums l r x y z : summed A l x -> summed A r y -> (x == 0 -> z == y) -> (y == 0 -> z == x) -> becomes A 1 (x + y) z -> summed A (l ++ r) z.
Definition times_sum (A : arithmetic) (inner outer : nat) (pairs : list (Q * Q)) (c x : Q) : Prop := exists products total d, (* 1 times a number is that number *)
  Forall2 (fun p y => exists e, becomes A inner (snd p) e /\ becomes A 1 (fst p * e) y /\ (fst p == 1 -> y == e)) pairs products /\
  summed A products total /\ becomes A outer c d /\ becomes A 1 (d * total) x.
(* A network as it runs: layers 1, 2, ..., each of whose terms reads an earlier one, of so many units, or the rows, which are number 0; what it has
   computed, and rectified if a unit does that, later ones read. The last has the logits. By how many units entries are wrong in the row of a node, weights in a
   layer, and biases at a node: none where all of them are numbers of the format. A layer is folded if its numbers stand for several that the program has:
   weights and biases are sums of parts, of no more than these sizes together, and products with parts pass so many roundings more. *)
Record reader (number : Type) := { read_layer : nat; read_units : Z; entry_error : Z -> nat; parts_size : Z -> Z -> number; more_roundings : nat; passes :> term number }.
Record stage (number : Type) := { steps : list (reader number); stage_bias : Z -> Z -> number; weight_error : nat; bias_error : Z -> nat; is_folded : bool;
  bias_parts : Z -> Z -> number; more_for_bias : nat; rectifies : Z -> bool }.
(* What terms add to unit j of node m: those of one operator their weights first, side by side; or a term its entries first. *)
Definition adds (A : arithmetic) (weights : nat) (M : nat -> rows) (m j : Z) (group : list (reader Q)) (summands : list Q) : Prop :=
  exists t more, group = t :: more /\ (forall s, In s more -> operator s m = operator t m /\ entry_error s m = entry_error t m) /\
  (Forall2 (fun e => times_sum A weights (entry_error t m) (flat_map (fun s => map (fun i => (M (read_layer s) (fst e) i, weight s i j)) (ids (read_units s))) group) (snd e)) (operator t m) summands \/
   more = [] /\ Forall2 (fun i => times_sum A (entry_error t m) weights (map (fun e => (M (read_layer t) (fst e) i, snd e)) (operator t m)) (weight t i j)) (ids (read_units t)) summands).
(* What a folded layer adds up for unit j of node m. Of its sums is known only how many roundings a part of a number passes at most, n: an addition for each input
   that is not 0, or entry, of each term, whichever are more, and for the others of its own; the roundings of what is read, and one of its product, which is exact
   if all inputs are 0 or 1; and that nothing on the way leaves the range or underflows further than in sums of products no larger than H, W and E. *)
Definition with_parts (x parts : Q) : Q := Qmax (Qabs x) parts.
Definition folded_sum (A : arithmetic) (M : nat -> rows) (l : stage Q) (m j : Z) (z : Q) : Prop := forall (n : nat) (H W E : Q),
  let h (t : reader Q) (e : Z * Q) (i : Z) := M (read_layer t) (fst e) i in let u := / inject_Z (2 ^ precision A) in
  let live t := length (filter (fun i => existsb (fun e => negb (Qeq_bool (h t e i) 0)) (operator t m)) (ids (read_units t))) in
  let entries (t : reader Q) := length (operator t m) in let additions := list_sum (map (fun t => Nat.max (live t) (entries t)) (steps l)) in
  let all := (inject_Z (Z.of_nat (list_sum (map (fun t => (live t + 1) * (entries t + 1))%nat (steps l)))) + 1) * (H * W * E) in
  let b := with_parts (stage_bias l m j) (bias_parts l m j) in let size (t : reader Q) i := with_parts (weight t i j) (parts_size t i j) in
  (additions + (bias_error l m + more_for_bias l) <= n)%nat -> (forall t, In t (steps l) -> entries t <> O ->
    additions + (Nat.min (live t) (entries t) + entry_error t m + (if forallb (fun e => forallb (fun i =>
      Qeq_bool (h t e i) 0 || Qeq_bool (h t e i) 1) (ids (read_units t))) (operator t m) then 0 else 1) + (weight_error l + more_roundings t)) <= n)%nat ->
  1 <= H /\ 1 <= W /\ 1 <= E -> (forall (t : reader Q) e i, In t (steps l) -> In e (operator t m) -> In i (ids (read_units t)) -> Qabs (h t e i) <= H) ->
  (forall (t : reader Q) i, In t (steps l) -> In i (ids (read_units t)) -> size t i <= W) -> (forall (t : reader Q) e, In t (steps l) -> In e (operator t m) -> Qabs (snd e) <= E) ->
  inject_Z (Z.of_nat n) * u <= 1 # 2 -> 128 * (all + b) < inject_Z (2 ^ 127) ->
  Qabs (z - (stage_bias l m j + sum (steps l) (fun t : reader Q => sum (operator t m) (fun e => snd e * sum (ids (read_units t)) (fun i => h t e i * weight t i j))))) <=
    ((1 + u) ^ Z.of_nat n - 1) * (sum (steps l) (fun t : reader Q => sum (operator t m) (fun e => Qabs (snd e) * sum (ids (read_units t)) (fun i => Qabs (h t e i) * size t i))) + b) +
    24 * (all * ((if flushes A then 1 else u) * / inject_Z (2 ^ 126))).
Definition rectified (rectifies : bool) (z : Q) : Q := if rectifies then (if Qle_bool 0 z then z else 0) else z.
Definition execution (A : arithmetic) (net : list (stage Q)) (X : rows) (M : nat -> rows) : Prop :=
  (forall n d, if reads_exactly A then M O n d == X n d else becomes A 1 (X n d) (M O n d)) /\
  forall k l, nth_error net k = Some l -> forall m j, exists z, M (S k) m j == rectified (rectifies l j) z /\
    if is_folded l then folded_sum A M l m j z else exists groups summands b, Permutation (concat groups) (steps l) /\ becomes A (bias_error l m) (stage_bias l m j) b /\
    Forall2 (adds A (weight_error l) M m j) groups summands /\ summed A (b :: concat summands) z.
Definition robust_run (A : arithmetic) (net : list (stage Q)) (made : rows -> Prop) (classes t y : Z) : Prop := forall X M, made X -> execution A net X M ->
  forall other, (0 <= other < classes)%Z -> other <> y -> M (length net) t other < M (length net) t y.
Definition broken_run (A : arithmetic) (net : list (stage Q)) (made : rows -> Prop) (classes t y : Z) : Prop := exists X other, made X /\
  (0 <= other < classes)%Z /\ other <> y /\ forall M, execution A net X M -> M (length net) t y < M (length net) t other.
