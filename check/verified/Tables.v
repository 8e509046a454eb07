(* Tables of values already computed, and lists grouped by key. A table never changes what is computed, only how often. *)
From Coq Require Import ZArith List Bool Lia Permutation FMapPositive.
From Verified Require Import Spec Sums.
Import ListNotations.
Open Scope Z_scope.

(* A value that is computed when it is first asked for, and an endless tree of them: what is coinductive here is lazy in OCaml. *)
CoInductive delayed (A : Type) := Delay (a : A).
Arguments Delay {A}.
Definition force {A} (d : delayed A) : A := match d with Delay a => a end.
CoInductive endless (A : Type) := Fork (here : delayed A) (even odd : endless A).
Arguments Fork {A}.

CoFixpoint grow {A} (f : positive -> A) : endless A := Fork (Delay (f xH)) (grow (fun p => f (xO p))) (grow (fun p => f (xI p))).
Fixpoint look_up {A} (p : positive) (t : endless A) : A :=
  match t with
  | Fork here even odd => match p with xH => force here | xO q => look_up q even | xI q => look_up q odd end
  end.

Lemma look_up_grow {A} p : forall f : positive -> A, look_up p (grow f) = f p.
Proof. induction p as [p IH|p IH|]; intros f; [exact (IH (fun q => f (xI q)))|exact (IH (fun q => f (xO q)))|reflexivity]. Qed.

Record table (A : Type) := { known : endless A; compute : Z -> A }.
Arguments known {A}. Arguments compute {A}.

Definition key (n : Z) : positive := Z.to_pos (n + 1).
Definition tabulate {A} (f : Z -> A) : table A := {| known := grow (fun p => f (Z.pos p - 1)); compute := f |}.
Definition get {A} (t : table A) (n : Z) : A := if Z.leb 0 n then look_up (key n) (known t) else compute t n.

Lemma get_tabulate {A} (f : Z -> A) n : get (tabulate f) n = f n.
Proof.
  unfold get, tabulate. cbn [known compute]. destruct (Z.leb_spec 0 n) as [N|]; [|reflexivity]. rewrite look_up_grow. f_equal.
  unfold key. rewrite Z2Pos.id by lia. lia.
Qed.

(* What is entered one by one. *)
Definition find {A} (m : PositiveMap.t (Z * A)) (n : Z) : option A :=
  match PositiveMap.find (key n) m with
  | Some (n', a) => if Z.eqb n' n then Some a else None
  | None => None
  end.

(* Merge sort by key; nothing rests on its order, only on its having the same elements. *)
Section Sort.
  Context {A : Type}.

  Fixpoint merge (l : list (Z * A)) : list (Z * A) -> list (Z * A) :=
    match l with
    | [] => fun r => r
    | a :: l' =>
        fix go r := match r with
          | [] => a :: l'
          | b :: r' => if Z.leb (fst a) (fst b) then a :: merge l' r else b :: go r'
          end
    end.

  Lemma merge_perm l r : Permutation (merge l r) (l ++ r).
  Proof.
    revert r. induction l as [|a l IH]; [reflexivity|]. induction r as [|b r IHr]; cbn [merge].
    - rewrite app_nil_r. reflexivity.
    - destruct (Z.leb (fst a) (fst b)).
      + cbn [app]. constructor. apply IH.
      + change ((a :: l) ++ b :: r) with ([] ++ (a :: l) ++ b :: r). rewrite <- Permutation_middle. cbn [app]. constructor. exact IHr.
  Qed.

  Fixpoint merge_pairs (ls : list (list (Z * A))) : list (list (Z * A)) :=
    match ls with a :: b :: rest => merge a b :: merge_pairs rest | _ => ls end.

  Lemma merge_pairs_perm ls : Permutation (concat (merge_pairs ls)) (concat ls).
  Proof.
    revert ls. fix IH 1. intros [|a [|b rest]]; try reflexivity. cbn [merge_pairs concat]. rewrite merge_perm, IH, app_assoc. reflexivity.
  Qed.

  Fixpoint merge_all (rounds : nat) (ls : list (list (Z * A))) : list (Z * A) :=
    match rounds with
    | O => concat ls
    | S more => match ls with [] => [] | [a] => a | _ => merge_all more (merge_pairs ls) end
    end.

  Lemma merge_all_perm rounds ls : Permutation (merge_all rounds ls) (concat ls).
  Proof.
    revert ls. induction rounds as [|rounds IH]; intros ls; [reflexivity|]. destruct ls as [|a [|b rest]]; cbn [merge_all].
    - reflexivity.
    - cbn. rewrite app_nil_r. reflexivity.
    - rewrite IH. apply merge_pairs_perm.
  Qed.

  Definition sort (l : list (Z * A)) : list (Z * A) := merge_all 64 (map (fun a => [a]) l).

  Lemma sort_perm l : Permutation (sort l) l.
  Proof.
    unfold sort. rewrite merge_all_perm. induction l; cbn; [reflexivity|]. constructor. assumption.
  Qed.

  (* Neighbours with the same key together. *)
  Fixpoint gather (l : list (Z * A)) : list (Z * list A) :=
    match l with
    | [] => []
    | (n, a) :: rest =>
        match gather rest with
        | (n', g) :: groups => if Z.eqb n n' then (n, a :: g) :: groups else (n, [a]) :: (n', g) :: groups
        | [] => [(n, [a])]
        end
    end.

  Definition group (l : list (Z * A)) : list (Z * list A) := gather (sort l).

  Lemma gather_sum l (f : Z -> A -> Z) : zsum (gather l) (fun g => zsum (snd g) (f (fst g))) = zsum l (fun e => f (fst e) (snd e)).
  Proof.
    induction l as [|[n a] l IH]; [reflexivity|]. rewrite zsum_cons, <- IH. cbn [gather fst snd].
    destruct (gather l) as [|[n' g] groups]; [rewrite !zsum_cons; cbn [fst snd]; rewrite !zsum_cons, !zsum_nil; lia|].
    destruct (Z.eqb_spec n n'); subst; rewrite !zsum_cons; cbn [fst snd]; rewrite !zsum_cons, ?zsum_nil; lia.
  Qed.

  Lemma group_sum l (f : Z -> A -> Z) : zsum (group l) (fun g => zsum (snd g) (f (fst g))) = zsum l (fun e => f (fst e) (snd e)).
  Proof. unfold group. rewrite gather_sum. apply zsum_perm, sort_perm. Qed.
End Sort.

(* Do the keys ascend? Then none is there twice. *)
Fixpoint ascending {B} (l : list (Z * B)) : bool :=
  match l with
  | a :: ((b :: _) as rest) => Z.ltb (fst a) (fst b) && ascending rest
  | _ => true
  end.

Lemma ascending_above {B} (l : list (Z * B)) a : ascending (a :: l) = true -> forall n, In n (map fst l) -> fst a < n.
Proof.
  revert a. induction l as [|b l IH]; intros a H n I; [destruct I|].
  cbn [ascending] in H. apply andb_prop in H as [H1 H2]. apply Z.ltb_lt in H1. destruct I as [E|I].
  - subst. assumption.
  - specialize (IH b H2 n I). lia.
Qed.

Lemma ascending_nodup {B} (l : list (Z * B)) : ascending l = true -> NoDup (map fst l).
Proof.
  induction l as [|a l IH]; intros H; cbn [map]; constructor.
  - intros C. pose proof (ascending_above l a H _ C). lia.
  - apply IH. destruct l; [reflexivity|]. cbn [ascending] in H. apply andb_prop in H as [_ H]. exact H.
Qed.
