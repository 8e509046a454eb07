(* Flips shared among parts of a graph, each of which breaks whole predictions: the smallest numbers of flips with which 1, 2, ... of those of a part may be broken,
   and the most that so many flips break in all parts. What flips are worth is a list of numbers for each part. *)
From Coq Require Import ZArith List Bool Lia.
From Verified Require Import Spec Sums Tables Steps Slopes.
Import ListNotations.
Open Scope Z_scope.

(* The largest numbers first. That they are is looked at, not proved of sorting. *)
Fixpoint descending (l : list Z) : bool :=
  match l with a :: ((b :: _) as rest) => Z.leb b a && descending rest | _ => true end.
Definition largest_first (l : list Z) : list Z := map snd (sort (map (fun x => (- x, x)) l)).
Definition firsts (k : Z) (l : list Z) : list Z := if Z.leb (Z.of_nat (length l)) k then l else firstn (Z.to_nat k) l.
(* Numbers above 0, no more than k of them where that can be seen to take the largest. *)
Definition best (k : Z) (l : list Z) : list Z :=
  let sorted := largest_first (filter (Z.ltb 0) l) in if descending sorted then firsts k sorted else sorted.

(* So many flips are worth a target, if each is worth the price and the first ones what is listed besides. *)
Fixpoint flips_for (price : Z) (above : list Z) (target : Z) : Z :=
  if Z.leb target 0 then 0
  else
    match above with
    | x :: rest => 1 + flips_for price rest (target - price - pos x)
    | [] => upward target price
    end.

(* The flips for `number` predictions, for one more, and so on, as long as there are no more than `most`. Something is worth `base` without flips. *)
Section Needed.
  Variables (one price base most : Z) (above : list Z).
  Fixpoint needed_from (count : nat) (number : Z) : list Z :=
    match count with
    | O => []
    | S less =>
        let flips := flips_for price above (number * one - base) in
        if (Z.ltb 0 price || Z.leb (number * one - base) (zsum above pos)) && Z.leb flips most then flips :: needed_from less (number + 1) else []
    end.
  Definition needed (count : nat) : list Z := 0 :: needed_from count 1.
End Needed.

(* Entry k is the smallest number of flips that breaks k predictions: in two parts together, and in all of them, as far as so many flips reach. *)
Fixpoint smaller (a b : list Z) : list Z :=
  match a, b with x :: a', y :: b' => Z.min x y :: smaller a' b' | [], _ => b | _, [] => a end.
Fixpoint together (a b : list Z) : list Z :=
  match b with
  | [] => []
  | y :: b' => match map (Z.add y) a with [] => [] | x :: a' => x :: smaller a' (together a b') end
  end.
Fixpoint within (most : Z) (l : list Z) : list Z :=
  match l with
  | [] => []
  | x :: rest => match within most rest with [] => if Z.leb x most then [x] else [] | more => x :: more end
  end.
Definition cheapest (most : Z) (parts : list (list Z)) : list Z := fold_right (fun part costs => within most (together costs part)) [0] parts.

(* Sums of the largest. *)
Lemma descending_head a l : descending (a :: l) = true -> descending l = true /\ forall x, In x l -> x <= a.
Proof.
  revert a. induction l as [|b l IH]; intros a H; [split; [reflexivity|intros x []]|].
  change (Z.leb b a && descending (b :: l) = true) in H. apply andb_prop in H as [L D]. apply Z.leb_le in L. split; [exact D|].
  intros x [<-|I]; [exact L|]. destruct (IH b D) as [_ IB]. specialize (IB x I). lia.
Qed.

Lemma sum_above_all (l : list Z) a : (forall x, In x l -> x <= a) -> zsum l (fun x => pos (x - a)) = 0.
Proof. intros H. apply zsum_zero. intros x I. specialize (H x I). unfold pos. lia. Qed.

Lemma firstn_sound l : forall k a S, descending l = true -> (forall b, a <= b -> S <= Z.of_nat k * (b - a) + zsum l (fun x => pos (x - b))) ->
  S <= zsum (firstn k l) (fun x => pos (x - a)).
Proof.
  induction l as [|x l IH]; intros k a S D H.
  - rewrite firstn_nil. specialize (H a (Z.le_refl a)). rewrite zsum_nil in *. lia.
  - destruct (descending_head x l D) as [D' HD]. destruct k as [|k].
    + cbn [firstn]. rewrite zsum_nil. specialize (H (Z.max a x) ltac:(lia)). rewrite sum_above_all in H; [lia|]. intros y [<-|I]; [lia|]. specialize (HD y I). lia.
    + cbn [firstn]. rewrite zsum_cons. destruct (Z_le_gt_dec x a) as [XA|XA].
      * specialize (H a (Z.le_refl a)). rewrite (sum_above_all (x :: l)) in H by (intros y [<-|I]; [lia|specialize (HD y I); lia]).
        assert (0 <= zsum (firstn k l) (fun y => pos (y - a))) by (apply zsum_nonneg; intros; unfold pos; lia). unfold pos at 1. lia.
      * assert (S - (x - a) <= zsum (firstn k l) (fun y => pos (y - a))); [|unfold pos at 1; lia]. apply IH; [exact D'|]. intros b AB.
        assert (0 <= zsum l (fun y => pos (y - b))) as NN by (apply zsum_nonneg; intros; unfold pos; lia).
        destruct (Z_le_gt_dec b x) as [BX|BX].
        -- specialize (H b AB). rewrite zsum_cons in H. unfold pos at 1 in H. lia.
        -- specialize (H x ltac:(lia)). rewrite (sum_above_all (x :: l)) in H by (intros y [<-|I]; [lia|exact (HD y I)]). nia.
Qed.

Lemma largest_first_sum l f : zsum (largest_first l) f = zsum l f.
Proof. unfold largest_first. rewrite zsum_map, (zsum_perm _ _ _ (sort_perm _)), zsum_map. reflexivity. Qed.

Lemma best_sound k l a S : 0 <= a -> 0 <= k -> (forall b, a <= b -> S <= k * (b - a) + zsum l (fun x => pos (x - b))) ->
  S <= zsum (best k l) (fun x => pos (x - a)).
Proof.
  intros A K H. unfold best. set (sorted := largest_first (filter (Z.ltb 0) l)).
  assert (forall b, a <= b -> zsum sorted (fun x => pos (x - b)) = zsum l (fun x => pos (x - b))) as E.
  { intros b AB. unfold sorted. rewrite largest_first_sum, zsum_filter. apply zsum_ext. intros x. destruct (Z.ltb_spec 0 x); [reflexivity|]. unfold pos. lia. }
  assert (S <= zsum sorted (fun x => pos (x - a))) as ALL by (specialize (H a (Z.le_refl a)); rewrite E; lia).
  destruct (descending sorted) eqn:D; [|exact ALL]. unfold firsts. destruct (Z.leb _ k); [exact ALL|].
  apply firstn_sound; [exact D|]. intros b AB. rewrite (E b AB), Z2Nat.id by exact K. exact (H b AB).
Qed.

(* What is needed is not above what is made. *)
Lemma flips_for_least price above : 0 <= price -> forall flips target, target <= Z.of_nat flips * price + zsum (firstn flips above) pos ->
  flips_for price above target <= Z.of_nat flips.
Proof.
  intros P. induction above as [|x above IH]; intros flips target H; cbn [flips_for]; destruct (Z.leb_spec target 0) as [T|T]; try lia.
  - rewrite firstn_nil, zsum_nil in H. unfold upward. assert (0 < price) by nia. assert (- Z.of_nat flips <= - target / price); [apply Z.div_le_lower_bound; lia|lia].
  - destruct flips as [|flips]; cbn [firstn] in H; rewrite ?zsum_nil, ?zsum_cons in H; [lia|].
    specialize (IH flips (target - price - pos x)). lia.
Qed.

Lemma firstn_sum_le k (l : list Z) : zsum (firstn k l) pos <= zsum l pos.
Proof.
  rewrite <- (firstn_skipn k l) at 2. rewrite zsum_app. assert (0 <= zsum (skipn k l) pos); [|lia]. apply zsum_nonneg. intros. unfold pos. lia.
Qed.

Lemma needed_sound one price base most above count k flips : 0 <= one -> 0 <= price -> (k <= count)%nat -> Z.of_nat flips <= most ->
  Z.of_nat k * one <= base + Z.of_nat flips * price + zsum (firstn flips above) pos ->
  exists c, nth_error (needed one price base most above count) k = Some c /\ c <= Z.of_nat flips.
Proof.
  intros O P KC FM H. unfold needed. destruct k as [|k]; [exists 0; cbn; split; [reflexivity|lia]|]. cbn [nth_error].
  assert (forall count k number, (k < count)%nat -> (number + Z.of_nat k) * one <= base + Z.of_nat flips * price + zsum (firstn flips above) pos ->
    exists c, nth_error (needed_from one price base most above count number) k = Some c /\ c <= Z.of_nat flips) as G.
  { clear k count KC H. induction count as [|count IH]; intros k number KC H; [lia|]. cbn [needed_from].
    assert (number * one - base <= Z.of_nat flips * price + zsum (firstn flips above) pos) as H0 by nia.
    pose proof (flips_for_least price above P flips (number * one - base) H0) as L.
    assert ((Z.ltb 0 price || Z.leb (number * one - base) (zsum above pos)) = true) as ->.
    { destruct (Z.ltb_spec 0 price); [reflexivity|]. apply Z.leb_le. assert (price = 0) as -> by lia. pose proof (firstn_sum_le flips above). lia. }
    destruct (Z.leb_spec (flips_for price above (number * one - base)) most) as [LM|LM]; [|lia]. cbn [andb].
    destruct k as [|k]; [eexists; split; [reflexivity|exact L]|]. cbn [nth_error]. apply IH; [lia|]. rewrite <- H. apply Z.eq_le_incl. f_equal. lia. }
  apply (G count k 1); [lia|]. rewrite <- H. apply Z.eq_le_incl. f_equal. lia.
Qed.

(* Entry k of a list is at most so many flips. *)
Definition reaches (l : list Z) (k : nat) (flips : Z) : Prop := exists c, nth_error l k = Some c /\ c <= flips.

Lemma smaller_left a b k flips : reaches a k flips -> reaches (smaller a b) k flips.
Proof.
  revert b k. induction a as [|x a IH]; intros [|y b] k (c & N & L).
  - exists c; auto.
  - destruct k; discriminate.
  - exists c; auto.
  - destruct k as [|k]; cbn [smaller nth_error] in *; [injection N as ->; eexists; split; [reflexivity|lia]|]. apply IH. exists c. auto.
Qed.

Lemma smaller_right a b k flips : reaches b k flips -> reaches (smaller a b) k flips.
Proof.
  revert b k. induction a as [|x a IH]; intros [|y b] k (c & N & L).
  - exists c; auto.
  - exists c; auto.
  - destruct k; discriminate.
  - destruct k as [|k]; cbn [smaller nth_error] in *; [injection N as ->; eexists; split; [reflexivity|lia]|]. apply IH. exists c. auto.
Qed.

Lemma together_reaches a s i b t j : reaches a s i -> reaches b t j -> reaches (together a b) (s + t) (i + j).
Proof.
  intros (c & NA & LA). revert b j. induction t as [|t IH]; intros b j (d & NB & LB).
  - destruct b as [|y b]; [discriminate|]. injection NB as ->. cbn [together]. rewrite Nat.add_0_r.
    assert (reaches (map (Z.add d) a) s (i + j)) as R by (exists (d + c); split; [apply map_nth_error; exact NA|lia]).
    destruct (map (Z.add d) a) as [|x a']; [destruct R as (? & R & _); destruct s; discriminate|].
    destruct s as [|s]; [exact R|]. change (reaches (smaller a' (together a b)) s (i + j)). apply smaller_left. exact R.
  - destruct b as [|y b]; [discriminate|]. cbn [nth_error] in NB. cbn [together].
    assert (map (Z.add y) a <> []) as NE by (destruct a; [destruct s; discriminate|discriminate]).
    destruct (map (Z.add y) a) as [|x a']; [contradiction|]. rewrite Nat.add_succ_r.
    change (reaches (smaller a' (together a b)) (s + t) (i + j)). apply smaller_right. apply IH. exists d. auto.
Qed.

Lemma within_reaches most l : forall k flips, flips <= most -> reaches l k flips -> reaches (within most l) k flips.
Proof.
  induction l as [|x l IH]; intros k flips F (c & N & L); [destruct k; discriminate|]. cbn [within]. destruct k as [|k]; cbn [nth_error] in N.
  - injection N as ->. destruct (within most l); [|exists c; auto]. destruct (Z.leb_spec c most); [exists c; auto|lia].
  - destruct (IH k flips F (ex_intro _ c (conj N L))) as (c' & N' & L'). destruct (within most l) as [|y r]; [destruct k; discriminate|]. exists c'. auto.
Qed.

(* So many flips of each part break so many predictions there: together they are counted. *)
Lemma cheapest_sound {A} most (parts : list A) (costs : A -> list Z) (broken : A -> nat) (flips : A -> Z) :
  (forall a, In a parts -> 0 <= flips a) -> (forall a, In a parts -> reaches (costs a) (broken a) (flips a)) -> zsum parts flips <= most ->
  zsum parts (fun a => Z.of_nat (broken a)) <= Z.of_nat (length (cheapest most (map costs parts))) - 1.
Proof.
  intros NN R M. assert (reaches (cheapest most (map costs parts)) (fold_right (fun a s => (s + broken a)%nat) O parts) (zsum parts flips)) as (c & N & _).
  { induction parts as [|a parts IH]; cbn [map fold_right cheapest].
    - exists 0. split; [reflexivity|rewrite zsum_nil; lia].
    - rewrite zsum_cons in *. apply within_reaches; [exact M|]. rewrite Z.add_comm. apply together_reaches; [|apply R; left; reflexivity].
      apply IH; [intros; apply NN; right; assumption|intros; apply R; right; assumption|]. specialize (NN a (or_introl eq_refl)). lia. }
  assert (nth_error (cheapest most (map costs parts)) (fold_right (fun a s => (s + broken a)%nat) O parts) <> None) as NS by congruence.
  apply nth_error_Some in NS. clear N.
  assert (zsum parts (fun a => Z.of_nat (broken a)) = Z.of_nat (fold_right (fun a s => (s + broken a)%nat) O parts)) as ->; [|lia].
  clear. induction parts as [|a parts IH]; [reflexivity|]. rewrite zsum_cons, IH. cbn [fold_right]. lia.
Qed.
