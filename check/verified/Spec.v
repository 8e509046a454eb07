(* What is claimed: networks, flips, admissible sets, robustness; in rational numbers, with nothing that a checker does. *)
From Coq Require Export QArith List ZArith Bool.
Export ListNotations.
Open Scope Q_scope.

(* Nodes, attributes, units and classes are integers; ids n = 0, 1, ..., n-1. *)
Fixpoint counting (from : Z) (count : nat) : list Z :=
  match count with O => [] | S more => from :: counting (from + 1)%Z more end.
Definition ids (n : Z) : list Z := counting 0 (Z.to_nat n).

Definition sum {A} (over : list A) (f : A -> Q) : Q := fold_right (fun a rest => f a + rest) 0 over.

(* A term of a layer: for each receiving node the nodes that it receives from, with the operator's entries; and a weight for each
   input and output. A layer is a sum of terms and a bias for each node and unit; some of its units have a relu, the others none.
   A network is its layers, the last one first. *)
Record term (number : Type) := { operator : Z -> list (Z * number); weight : Z -> Z -> number }.
Record layer (number : Type) :=
  { terms : list (term number); inputs : Z; bias : Z -> Z -> number; relu : Z -> bool }.
Arguments operator {number}. Arguments weight {number}. Arguments terms {number}.
Arguments inputs {number}. Arguments bias {number}. Arguments relu {number}.
Definition network number := list (layer number).

(* What unit i of the last layer passes on if its pre-activation is z; attributes are passed on as they are. *)
Definition passed_on (net : network Q) (i : Z) (z : Q) : Q :=
  match net with
  | last :: _ => if relu last i then (if Qle_bool 0 z then z else 0) else z
  | [] => z
  end.

(* The pre-activation of unit j of node m in the last layer, on attributes X; without layers, the attribute itself. *)
Fixpoint preactivation (net : network Q) (X : Z -> Z -> bool) (m j : Z) : Q :=
  match net with
  | [] => if X m j then 1 else 0
  | last :: below =>
      bias last m j +
      sum (terms last) (fun t => sum (operator t m) (fun entry => snd entry *
        sum (ids (inputs last)) (fun i => passed_on below i (preactivation below X (fst entry) i) * weight t i j)))
  end.

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

Definition logit (net : network Q) (P : problem) (F : list flip) : Z -> Z -> Q := preactivation net (flipped (attributes P) F).

(* Node t keeps class y of `classes` whatever admissible flips are made; or loses it to another class (or ties with it). *)
Definition robust (net : network Q) (P : problem) (classes t y : Z) : Prop :=
  forall F, admissible P F -> forall other, (0 <= other < classes)%Z -> other <> y -> logit net P F t other < logit net P F t y.
Definition broken (net : network Q) (P : problem) (classes t y : Z) : Prop :=
  exists F other, admissible P F /\ (0 <= other < classes)%Z /\ other <> y /\ logit net P F t y < logit net P F t other.
Definition tied (net : network Q) (P : problem) (classes t y : Z) : Prop :=
  exists F other, admissible P F /\ (0 <= other < classes)%Z /\ other <> y /\ logit net P F t y == logit net P F t other.

(* Class y is the predicted one: the largest logit without flips, the smallest number among equals. *)
Definition predicted (net : network Q) (P : problem) (classes t y : Z) : Prop :=
  (0 <= y < classes)%Z /\ forall other, (0 <= other < classes)%Z -> other <> y ->
  logit net P [] t other < logit net P [] t y \/ (logit net P [] t other == logit net P [] t y /\ (y < other)%Z).
