(* Rows divided by their sums: menus hold what flips of a row lose, and rules 1 and 2 hold for whole rows. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units Rows Leaf Trees Sound Menus.
Import ListNotations.
Open Scope Z_scope.

(* Lists. *)
Lemma once_in l n : In n (once l) <-> In n l.
Proof.
  induction l as [|m l IH]; [reflexivity|]. cbn [once]. destruct (existsb (Z.eqb m) l) eqn:E; cbn [In]; rewrite IH; [|reflexivity].
  split; [auto|]. intros [<-|H]; [|exact H]. apply existsb_exists in E as (x & I & E). apply Z.eqb_eq in E. subst. exact I.
Qed.

Lemma once_nodup l : NoDup (once l).
Proof.
  induction l as [|m l IH]; cbn [once]; [constructor|]. destruct (existsb (Z.eqb m) l) eqn:E; [exact IH|]. constructor; [|exact IH].
  rewrite once_in. intros I. assert (existsb (Z.eqb m) l = true); [|congruence]. apply existsb_exists. exists m. rewrite Z.eqb_refl. auto.
Qed.

Lemma highest_ge l x : In x l -> exists y, highest l = Some y /\ x <= y.
Proof.
  induction l as [|a l IH]; [intros []|]. intros [->|H]; cbn [highest].
  - destruct (highest l); eexists; split; eauto; lia.
  - destruct (IH H) as (y & -> & L). eexists. split; eauto. lia.
Qed.

Lemma length_filter {A} (p : A -> bool) l : Z.of_nat (length (filter p l)) = zsum l (fun a => bit (p a)).
Proof. rewrite size_sum, zsum_filter. reflexivity. Qed.

Lemma falls_above a l : falls (a :: l) = true -> forall b, In b l -> b <= a.
Proof.
  revert a. induction l as [|c l IH]; intros a H b I; [destruct I|]. cbn [falls] in H. apply andb_prop in H as [H1 H2]. apply Z.leb_le in H1.
  destruct I as [->|I]; [exact H1|]. specialize (IH c H2 b I). lia.
Qed.
Lemma falls_tail a l : falls (a :: l) = true -> falls l = true.
Proof. destruct l; [reflexivity|]. cbn [falls]. intros H. apply andb_prop in H as [_ H]. exact H. Qed.

Lemma counting_length from c : length (counting from c) = c.
Proof. revert from. induction c as [|c IH]; intros from; cbn [counting length]; auto. Qed.

(* Of a falling list the first ones are the largest. *)
Lemma first_largest (l : list Z) (ds : list Z) (g : Z -> Z) (A : list Z) : falls l = true -> (forall h, zsum l h = zsum ds (fun d => h (g d))) ->
  NoDup A -> incl A ds -> zsum A g <= zsum (firstn (length A) l) (fun x => x) /\ (length A <= length l)%nat.
Proof.
  intros FA SU ND IN.
  assert (length A <= length l)%nat as LE.
  { pose proof (NoDup_incl_length ND IN). assert (Z.of_nat (length l) = Z.of_nat (length ds)) by (rewrite !size_sum; apply (SU (fun _ => 1))). lia. }
  split; [|exact LE]. destruct A as [|d0 A0] eqn:EA; [cbn; lia|]. rewrite <- EA in *.
  set (a := length A) in *. assert (0 < a)%nat as PA by (unfold a; rewrite EA; cbn [length]; lia).
  set (theta := nth (a - 1) l 0).
  assert (zsum A g <= Z.of_nat a * theta + zsum ds (fun d => pos (g d - theta))) as H1.
  { assert (zsum A g <= zsum A (fun d => theta + pos (g d - theta))) as K by (apply zsum_le_in; intros d _; unfold pos; lia).
    rewrite zsum_plus in K. assert (zsum A (fun _ => theta) = Z.of_nat a * theta) as ET by (unfold a; rewrite size_sum, <- zsum_scale_r; apply zsum_ext; intros; lia).
    rewrite ET in K.
    pose proof (zsum_incl A ds (fun d => pos (g d - theta)) ND IN) as L. assert (forall d : Z, In d ds -> 0 <= pos (g d - theta)) as NN by (intros; unfold pos; lia).
    specialize (L NN). lia. }
  rewrite <- (SU (fun x => pos (x - theta))) in H1.
  assert (zsum l (fun x => pos (x - theta)) = zsum (firstn a l) (fun x => x) - Z.of_nat a * theta) as H2; [|lia].
  unfold theta. clear - FA LE PA. clearbody a. revert a LE PA. induction l as [|x l IH]; intros a LE PA; [cbn [length] in LE; lia|].
  destruct a as [|a]; [lia|]. cbn [firstn]. rewrite !zsum_cons. replace (S a - 1)%nat with a by lia. destruct a as [|a].
  - cbn [nth firstn]. rewrite zsum_nil. rewrite (zsum_zero l); [unfold pos; lia|]. intros y Hy. pose proof (falls_above x l FA y Hy). unfold pos; lia.
  - cbn [nth]. cbn [length] in LE. specialize (IH (falls_tail _ _ FA) (S a) ltac:(lia) ltac:(lia)). replace (S a - 1)%nat with a in IH by lia.
    assert (nth a l 0 <= x) by (apply (falls_above x l FA); apply nth_In; lia). unfold pos in *. lia.
Qed.

Lemma running_in l : forall from acc k, (k <= length l)%nat -> In (from + Z.of_nat k, acc + zsum (firstn k l) (fun x => x)) (running from acc l).
Proof.
  induction l as [|x l IH]; intros from acc k LE; cbn [length] in LE.
  - destruct k; [|lia]. cbn. left. f_equal; lia.
  - destruct k as [|k]; cbn [running firstn].
    + left. cbn. f_equal; lia.
    + right. specialize (IH (from + 1) (acc + x) k ltac:(lia)). rewrite zsum_cons. replace (from + Z.of_nat (S k)) with (from + 1 + Z.of_nat k) by lia.
      replace (acc + (x + zsum (firstn k l) (fun x => x))) with (acc + x + zsum (firstn k l) (fun x => x)) by lia. exact IH.
Qed.

(* So many of some attributes have amounts of at most what stands in the list. *)
Definition best_sums (most : Z) (l : list Z) (g : Z -> Z) (ds : Z -> Prop) : Prop :=
  forall A, NoDup A -> (forall d, In d A -> ds d) -> Z.of_nat (length A) <= most ->
  exists s, In (Z.of_nat (length A), s) (running 0 0 l) /\ zsum A g <= s.

Lemma best_of l ds most (g : Z -> Z) (among : Z -> Prop) : falls l = true -> (forall h, zsum l h = zsum ds (fun d => h (g d))) ->
  (forall d, among d -> In d ds) -> best_sums most (firstn (Z.to_nat most) l) g among.
Proof.
  intros FA SU AM A ND IN LE. destruct (first_largest l ds g A FA SU ND (fun d H => AM d (IN d H))) as [H1 H2].
  exists (zsum (firstn (length A) l) (fun x => x)). split; [|exact H1].
  pose proof (running_in (firstn (Z.to_nat most) l) 0 0 (length A)) as R. rewrite !Z.add_0_l, firstn_firstn, Nat.min_l in R by lia. apply R.
  rewrite firstn_length. lia.
Qed.

Lemma ranked_spec l s : ranked l = Some s -> falls s = true /\ forall h, zsum s h = zsum l h.
Proof.
  unfold ranked. destruct (falls _) eqn:E; [|discriminate]. intros [= <-]. split; [exact E|]. intros h. rewrite zsum_map, rev_append_rev, app_nil_r.
  rewrite (zsum_perm (rev _) _ (fun a => h (fst a)) (Permutation_sym (Permutation_rev _))), (zsum_perm _ _ _ (sort_perm _)), zsum_map. reflexivity.
Qed.

Lemma take_spec count keep b l : take count keep b l = firstn count (map (fun p => b * fst p) (filter (fun p => keep (snd p)) l)).
Proof.
  revert count. induction l as [|[w d] l IH]; intros count; cbn [take filter map]; [rewrite firstn_nil; reflexivity|].
  destruct count as [|count]; [reflexivity|]. cbn [snd]. destruct (keep d); cbn [map firstn fst]; [f_equal; apply IH|apply IH].
Qed.

Lemma column_falls keep b l : b <= 0 -> rises l = true -> falls (map (fun p : Z * Z => b * fst p) (filter keep l)) = true.
Proof.
  intros B. induction l as [|a l IH]; intros R; [reflexivity|]. cbn [filter]. pose proof (rises_above a l R) as AB. specialize (IH (rises_tail _ _ R)).
  destruct (keep a); [|exact IH]. cbn [map]. destruct (map (fun p => b * fst p) (filter keep l)) as [|y r] eqn:E; [reflexivity|].
  change (Z.leb y (b * fst a) && falls (y :: r) = true). rewrite IH, andb_true_r. apply Z.leb_le. assert (In y (map (fun p => b * fst p) (filter keep l))) as I by (rewrite E; left; reflexivity).
  apply in_map_iff in I as (p & <- & I). apply filter_In in I as [I _]. specialize (AB p I). nia.
Qed.

(* Rows, and what is read of them. *)
Definition divided (sigma : Z -> Z) (size : Z) (X : Z -> Z -> bool) : zrows :=
  fun n d => bit (X n d) * sigma (Z.of_nat (length (filter (X n) (ids size)))).

Definition vector := ready -> Z -> Z.
(* Functions of what a row sends that are convex and grow in proportion. *)
Record sublinear (f : vector -> Z) : Prop := {
  sub_ext : forall x y, (forall t j, x t j = y t j) -> f x = f y;
  sub_add : forall x y, f (fun t j => x t j + y t j) <= f x + f y;
  sub_scale : forall c x, 0 <= c -> f (fun t j => c * x t j) = c * f x }.

Lemma sub_zero f : sublinear f -> f (fun _ _ => 0) = 0.
Proof. intros S. rewrite (sub_ext f S _ (fun t j => 0 * (fun _ _ => 0) t j)) by reflexivity. rewrite (sub_scale f S) by lia. lia. Qed.

Lemma sub_sum f (x : Z -> vector) l : sublinear f -> f (fun t j => zsum l (fun d => x d t j)) <= zsum l (fun d => f (x d)).
Proof.
  intros S. induction l as [|d l IH].
  - rewrite zsum_nil. rewrite (sub_ext f S _ (fun _ _ => 0)) by reflexivity. rewrite (sub_zero f S). lia.
  - rewrite zsum_cons. rewrite (sub_ext f S (fun t j => zsum (d :: l) (fun d => x d t j)) (fun t j => x d t j + (fun t j => zsum l (fun d => x d t j)) t j)) by (intros; rewrite zsum_cons; reflexivity).
    etransitivity; [exact (sub_add f S (x d) (fun t j => zsum l (fun d => x d t j)))|]. apply Z.add_le_mono_l. exact IH.
Qed.

Section OneRow.
  Variables (P : problem) (F : list flip) (sigma : Z -> Z) (C : list condition) (present : Z -> list Z).
  Hypothesis A : admissible P F.
  Hypothesis CO : forall c, In c C -> fulfils P F c.
  Hypothesis SIZE : 0 <= count P.
  Hypothesis SG : forall c, 0 <= c <= count P -> 0 <= sigma c.
  Hypothesis PRESENT : forall n, present n = filter (attributes P n) (ids (count P)).
  Let X := attributes P.
  Let Y := flipped X F.
  Let k n := size (of_node n F).

  Definition made_of (n : Z) (removed : bool) : list Z := map snd (filter (fun f => Z.eqb (fst f) n && Bool.eqb (X n (snd f)) removed) F).

  Lemma made_of_in n removed d : In d (made_of n removed) <-> In (n, d) F /\ X n d = removed.
  Proof.
    unfold made_of. rewrite in_map_iff. split.
    - intros ([n' d'] & <- & H). apply filter_In in H as [I H]. cbn [fst snd] in *. apply andb_prop in H as [H1 H2]. apply Z.eqb_eq in H1. apply eqb_prop in H2. subst. auto.
    - intros [I <-]. exists (n, d). split; [reflexivity|]. apply filter_In. split; [exact I|]. cbn [fst snd]. rewrite Z.eqb_refl, eqb_reflx. reflexivity.
  Qed.

  Lemma made_of_nodup n removed : NoDup (made_of n removed).
  Proof.
    unfold made_of. destruct A as (ND & _). clear - ND. induction ND as [|f F NI ND IH]; cbn [filter map]; [constructor|].
    destruct (Z.eqb_spec (fst f) n) as [E|]; cbn [andb]; [|exact IH]. destruct (Bool.eqb _ _); [|exact IH]. cbn [map]. constructor; [|exact IH].
    intros I. apply in_map_iff in I as (g & Eg & I). apply filter_In in I as [I H]. apply andb_prop in H as [H _]. apply Z.eqb_eq in H. apply NI.
    destruct f, g. cbn [fst snd] in *. subst. exact I.
  Qed.

  Lemma made_of_moved n removed : Z.of_nat (length (made_of n removed)) = moved_in P F n removed.
  Proof. unfold made_of. rewrite map_length, size_sum, zsum_filter. reflexivity. Qed.

  Lemma made_of_size n : k n = Z.of_nat (length (made_of n false)) + Z.of_nat (length (made_of n true)).
  Proof.
    rewrite !made_of_moved. unfold k, moved_in. rewrite size_of_node, <- zsum_plus. apply zsum_ext. intros f.
    destruct (Z.eqb (fst f) n); [|reflexivity]. cbn [andb]. destruct (attributes P n (snd f)); reflexivity.
  Qed.

  Lemma made_of_kept n removed d : In d (made_of n removed) -> 0 <= d < count P /\ kept P n removed d = true.
  Proof.
    rewrite made_of_in. intros [I E]. destruct (made_is_free P F _ A I) as [H1 H2]. cbn [fst snd] in *. split; [exact H2|]. unfold kept. fold X. rewrite E, H1, eqb_reflx. reflexivity.
  Qed.

  Lemma size_left n : 0 <= k n <= left_in P n.
  Proof.
    unfold k, left_in. split; [unfold size; lia|]. destruct (of_node n F) as [|f r] eqn:E; [unfold size; cbn [length]; lia|].
    assert (In f (of_node n F)) as I by (rewrite E; left; reflexivity). unfold of_node in I. apply filter_In in I as [I1 I2]. apply Z.eqb_eq in I2.
    destruct A as (_ & _ & Q & q). specialize (q f I1). rewrite I2 in q. rewrite E in q. pose proof (size_of_node_le n F) as L. rewrite E in L. unfold left. lia.
  Qed.

  (* Sums over the row after the flips. *)
  Lemma row_after n w : zsum (ids (count P)) (fun d => bit (Y n d) * w d) =
    zsum (present n) w + zsum (made_of n false) w - zsum (made_of n true) w.
  Proof.
    destruct A as (ND & PF & _). rewrite PRESENT, zsum_filter.
    rewrite (zsum_ext _ _ (fun d => (if attributes P n d then w d else 0) + zsum F (fun f => if same (n, d) f then change X n d * w d else 0))).
    2: { intros d. unfold Y. rewrite flipped_bit by exact ND. rewrite Z.mul_add_distr_r, <- zsum_scale_r. fold X. f_equal; [destruct (X n d); cbn [bit]; lia|].
         apply zsum_ext. intros f. destruct (same (n, d) f); lia. }
    rewrite zsum_plus, zsum_swap. assert (zsum F (fun f => zsum (ids (count P)) (fun d => if same (n, d) f then change X n d * w d else 0)) =
      zsum (made_of n false) w - zsum (made_of n true) w) as ->; [|lia].
    unfold made_of. rewrite !zsum_map, !zsum_filter. rewrite <- Z.add_opp_r, <- zsum_opp, <- zsum_plus. apply zsum_ext_in. intros [n' d] I. cbn [fst snd].
    destruct (PF _ I) as [_ Hd]. cbn [snd] in Hd. unfold same. cbn [fst snd]. rewrite (Z.eqb_sym n n'). destruct (Z.eqb_spec n' n) as [->|]; cbn [andb].
    - rewrite (zsum_only (ids (count P)) d (fun d => change X n d * w d) (ids_nodup _) (proj2 (ids_in _ _) Hd)). unfold change. destruct (X n d); cbn [Bool.eqb]; lia.
    - rewrite zsum_zero by reflexivity. reflexivity.
  Qed.

  Lemma own_after n : Z.of_nat (length (filter (Y n) (ids (count P)))) = own present n + Z.of_nat (length (made_of n false)) - Z.of_nat (length (made_of n true)).
  Proof.
    rewrite length_filter. unfold own. rewrite !size_sum. pose proof (row_after n (fun _ => 1)) as R. rewrite <- R. apply zsum_ext. intros. lia.
  Qed.

  Lemma own_size n : own present n = Z.of_nat (length (filter (X n) (ids (count P)))).
  Proof. unfold own. rewrite PRESENT. reflexivity. Qed.

  (* What the flips of a row change in what it sends. *)
  Definition delta (n : Z) : vector := fun t j =>
    zsum (ids (count P)) (fun d => (divided sigma (count P) Y n d - divided sigma (count P) X n d) * weight (source t) d j).
  Definition weight_vector (d : Z) : vector := fun t j => weight (source t) d j.
  Definition whole_vector (n : Z) : vector := fun t j => zsum (present n) (fun d => weight (source t) d j).
  Definition minus (x : vector) : vector := fun t j => - x t j.

  Lemma delta_untouched n : ~ In n (map fst F) -> forall t j, delta n t j = 0.
  Proof.
    intros NI t j. assert (forall d, Y n d = X n d) as E.
    { intros d. unfold Y, flipped. assert (existsb (same (n, d)) F = false) as ->; [|reflexivity].
      destruct (existsb (same (n, d)) F) eqn:Ex; [|reflexivity]. apply existsb_exists in Ex as (f & I & S). apply same_spec in S. subst f.
      exfalso. apply NI. apply in_map_iff. exists (n, d). auto. }
    unfold delta. apply zsum_zero. intros d _. unfold divided. rewrite (filter_ext _ _ E), E. lia.
  Qed.

  Lemma delta_parts n t j : let before := sigma (own present n) in
    let after := sigma (own present n + Z.of_nat (length (made_of n false)) - Z.of_nat (length (made_of n true))) in
    delta n t j = (after - before) * whole_vector n t j + after * (zsum (made_of n false) (fun d => weight_vector d t j) + zsum (made_of n true) (fun d => minus (weight_vector d) t j)).
  Proof.
    intros before after. unfold delta, divided. rewrite own_after, <- own_size. fold after before.
    rewrite (zsum_ext _ _ (fun d => after * (bit (Y n d) * weight (source t) d j) + - (before * (bit (X n d) * weight (source t) d j)))) by (intros; ring).
    rewrite zsum_plus, zsum_opp, !zsum_scale, row_after.
    assert (zsum (ids (count P)) (fun d => bit (X n d) * weight (source t) d j) = whole_vector n t j) as ->.
    { unfold whole_vector. rewrite PRESENT, zsum_filter. apply zsum_ext. intros d. fold X. destruct (X n d); cbn [bit]; lia. }
    unfold whole_vector, weight_vector, minus. rewrite zsum_opp. ring.
  Qed.

  Lemma allowed_way n : allows C n (Z.of_nat (length (made_of n false))) (Z.of_nat (length (made_of n true))) = true.
  Proof.
    unfold allows. apply forallb_forall. intros c Hc. specialize (CO c Hc). unfold fulfils in CO. destruct (Z.eqb_spec (on_row c) n) as [E|]; [|reflexivity].
    cbn [negb orb]. rewrite E in CO. rewrite !made_of_moved. destruct (on_removals c), (exceeded c); first [apply Z.ltb_lt|apply Z.leb_le]; exact CO.
  Qed.

  Lemma menu_has f n adds removes : sublinear f ->
    best_sums (left_in P n) adds (fun d => f (weight_vector d)) (fun d => 0 <= d < count P /\ kept P n false d = true) ->
    best_sums (left_in P n) removes (fun d => f (minus (weight_vector d))) (fun d => 0 <= d < count P /\ kept P n true d = true) ->
    exists v, In (k n, v) (menu P sigma C present n (f (whole_vector n)) (f (minus (whole_vector n))) adds removes) /\ f (delta n) <= v.
  Proof.
    intros S BA BR. pose proof (made_of_size n) as K. pose proof (size_left n) as L.
    destruct (BA (made_of n false) (made_of_nodup n false) (fun d H => made_of_kept n false d H) ltac:(lia)) as (sa & Ia & La).
    destruct (BR (made_of n true) (made_of_nodup n true) (fun d H => made_of_kept n true d H) ltac:(lia)) as (sr & Ir & Lr).
    set (a := Z.of_nat (length (made_of n false))) in *. set (r := Z.of_nat (length (made_of n true))) in *.
    exists (way sigma present n (f (whole_vector n)) (f (minus (whole_vector n))) (a, sa) (r, sr)). split.
    - unfold menu. apply in_flat_map. exists (a, sa). split; [exact Ia|]. apply in_flat_map. exists (r, sr). split; [exact Ir|]. cbn [fst snd].
      assert (Z.leb (a + r) (left_in P n) && allows C n a r = true) as ->; [|left; f_equal; lia].
      apply andb_true_intro. split; [apply Z.leb_le; lia|apply allowed_way].
    - unfold way. cbn [fst snd]. set (before := sigma (own present n)). set (after := sigma (own present n + a - r)).
      assert (0 <= after) as NA.
      { apply SG. unfold a, r. rewrite <- own_after. split; [lia|]. rewrite length_filter. transitivity (zsum (ids (count P)) (fun _ => 1)).
        - apply zsum_le_in. intros d _. destruct (Y n d); cbn [bit]; lia.
        - rewrite <- size_sum. unfold ids. rewrite counting_length. lia. }
      set (added := fun t j => zsum (made_of n false) (fun d => weight_vector d t j)). set (gone := fun t j => zsum (made_of n true) (fun d => minus (weight_vector d) t j)).
      assert (f added <= sa) as HA by (etransitivity; [apply (sub_sum f weight_vector _ S)|exact La]).
      assert (f gone <= sr) as HR by (etransitivity; [apply (sub_sum f (fun d => minus (weight_vector d)) _ S)|exact Lr]).
      set (moving := fun t j => after * (fun t j => added t j + gone t j) t j).
      assert (f moving <= after * (sa + sr)) as HM.
      { unfold moving. rewrite (sub_scale f S) by exact NA. apply Z.mul_le_mono_nonneg_l; [exact NA|]. pose proof (sub_add f S added gone). lia. }
      destruct (Z.leb_spec before after) as [LE|LE].
      + rewrite (sub_ext f S (delta n) (fun t j => (fun t j => (after - before) * whole_vector n t j) t j + moving t j)) by (intros t j; apply delta_parts).
        etransitivity; [apply (sub_add f S)|]. rewrite (sub_scale f S) by lia. lia.
      + rewrite (sub_ext f S (delta n) (fun t j => (fun t j => (before - after) * minus (whole_vector n) t j) t j + moving t j)).
        * etransitivity; [apply (sub_add f S)|]. rewrite (sub_scale f S) by lia. lia.
        * intros t j. rewrite delta_parts. unfold moving, added, gone, minus at 2. fold a r before after. ring.
  Qed.

  (* Sums over rows. *)
  Definition touched : list Z := once (map fst F).

  Lemma touched_in n : In n touched <-> exists d, In (n, d) F.
  Proof.
    unfold touched. rewrite once_in, in_map_iff. split; [intros ([n' d] & <- & I); eauto|intros (d & I); exists (n, d); auto].
  Qed.

  Lemma sum_by_rows (h : Z -> Z) : zsum F (fun f => h (fst f)) = zsum touched (fun n => k n * h n).
  Proof.
    unfold k. rewrite (zsum_ext touched _ (fun n => zsum F (fun f => if Z.eqb (fst f) n then h n else 0))).
    - rewrite zsum_swap. apply zsum_ext_in. intros f I.
      rewrite (zsum_ext _ _ (fun n => if Z.eqb n (fst f) then h n else 0)) by (intros n; rewrite Z.eqb_sym; reflexivity).
      symmetry. apply zsum_only; [apply once_nodup|]. apply touched_in. exists (snd f). destruct f. exact I.
    - intros n. rewrite size_of_node, <- zsum_scale_r. apply zsum_ext. intros f. destruct (Z.eqb (fst f) n); lia.
  Qed.

  Lemma untouched_size n : ~ In n touched -> k n = 0.
  Proof.
    intros NI. unfold k. rewrite size_of_node. apply zsum_zero. intros f I. destruct (Z.eqb_spec (fst f) n) as [<-|]; [|reflexivity].
    exfalso. apply NI. apply touched_in. exists (snd f). destruct f. exact I.
  Qed.

  Lemma fewest_of C0 n removed : (forall c, In c C0 -> fulfils P F c) -> 0 <= fewest C0 n removed <= moved_in P F n removed.
  Proof.
    assert (0 <= moved_in P F n removed) as NN by (unfold moved_in; apply zsum_nonneg; intros f _; destruct (_ && _); lia).
    unfold fewest. induction C0 as [|c C0 IH]; intros CO0; cbn [fold_right]; [lia|]. specialize (IH (fun c' H => CO0 c' (or_intror H))).
    destruct (Z.eqb_spec (on_row c) n) as [E0|]; cbn [andb]; [|exact IH]. destruct (Bool.eqb (on_removals c) removed) eqn:E; cbn [andb]; [|exact IH].
    apply eqb_prop in E. specialize (CO0 c (or_introl eq_refl)). unfold fulfils in CO0. rewrite E0, E in CO0. destruct (exceeded c); [|exact IH]. lia.
  Qed.

  Lemma fewest_moved n removed : 0 <= fewest C n removed <= moved_in P F n removed.
  Proof. apply fewest_of. exact CO. Qed.

  Lemma reserved_size n : 0 <= reserved C n <= k n.
  Proof. unfold reserved. rewrite made_of_size, !made_of_moved. pose proof (fewest_moved n false). pose proof (fewest_moved n true). lia. Qed.

  Lemma all_reserved_le : all_reserved C <= zsum touched (reserved C).
  Proof.
    unfold all_reserved. transitivity (zsum (filter (fun n => existsb (Z.eqb n) touched) (once (map on_row C))) (reserved C)).
    - rewrite zsum_filter. apply zsum_le_in. intros n _. destruct (existsb (Z.eqb n) touched) eqn:E; [lia|].
      assert (~ In n touched) as NI. { intros I. assert (existsb (Z.eqb n) touched = true); [|congruence]. apply existsb_exists. exists n. rewrite Z.eqb_refl. auto. }
      pose proof (reserved_size n). rewrite (untouched_size n NI) in *. lia.
    - apply zsum_incl; [apply NoDup_filter, once_nodup| |intros n _; apply reserved_size].
      intros n I. apply filter_In in I as [_ I]. apply existsb_exists in I as (x & Hx & E). apply Z.eqb_eq in E. subst. exact Hx.
  Qed.

  Lemma size_rows : zsum touched k <= total P.
  Proof.
    destruct A as (_ & _ & Q & _). pose proof (sum_by_rows (fun _ => 1)) as S. unfold size in Q. rewrite size_sum in Q. rewrite S in Q.
    rewrite (zsum_ext touched k (fun n => k n * 1)) by (intros; lia). exact Q.
  Qed.

  Lemma hopeless_sound : hopeless P C = false.
  Proof.
    unfold hopeless. apply orb_false_intro.
    - apply Z.ltb_ge. pose proof all_reserved_le. pose proof size_rows. assert (zsum touched (reserved C) <= zsum touched k); [|lia].
      apply zsum_le_in. intros n _. apply reserved_size.
    - destruct (existsb _ C) eqn:E; [|reflexivity]. exfalso. apply existsb_exists in E as (c & Hc & E). apply orb_prop in E as [E|E]; apply andb_prop in E as [E1 E2].
      + apply Z.ltb_lt in E1, E2. pose proof (reserved_size (on_row c)). pose proof (size_left (on_row c)). unfold left_in in *. lia.
      + apply negb_true_iff in E1. apply Z.ltb_lt in E2. pose proof (CO c Hc) as CC. unfold fulfils in CC. rewrite E1 in CC. pose proof (fewest_moved (on_row c) (on_removals c)). lia.
  Qed.

  (* Rule 1. *)
  Lemma over_menus (menus : list (Z * list (Z * Z))) (h : Z * list (Z * Z) -> Z) : NoDup (map fst menus) ->
    (forall e, In e menus -> ~ In (fst e) touched -> 0 <= h e) ->
    zsum touched (fun n => zsum menus (fun e => if Z.eqb (fst e) n then h e else 0)) <= zsum menus h.
  Proof.
    intros ND NN. rewrite zsum_swap. apply zsum_le_in. intros e He.
    rewrite (zsum_ext _ _ (fun n => if Z.eqb n (fst e) then h e else 0)) by (intros n; rewrite Z.eqb_sym; reflexivity).
    destruct (in_dec Z.eq_dec (fst e) touched) as [I|NI].
    - rewrite (zsum_only touched (fst e) (fun _ => h e) (once_nodup _) I). lia.
    - rewrite zsum_zero; [apply NN; assumption|]. intros n Hn. destruct (Z.eqb_spec n (fst e)); [subst; contradiction|reflexivity].
  Qed.

  Lemma prices_paid p : not_negative p = true -> zsum touched (fun n => k n * price_of p n) <= paid P p.
  Proof. intros NN. rewrite <- sum_by_rows. apply sum_of_prices; assumption. Qed.

  Lemma prices_reserved p : not_negative p = true -> zsum touched (fun n => price_of p n * pos (k n - reserved C n)) <= paid P p - all_reserved C * every p.
  Proof.
    intros NN. apply not_negative_spec in NN as [N1 N2]. set (eta := fun n => zsum (nodes p) (fun e => if Z.eqb (fst e) n then snd e else 0)).
    assert (forall n, 0 <= eta n) as NE by (intros n; apply zsum_nonneg; intros e He; destruct (Z.eqb (fst e) n); auto; lia).
    rewrite (zsum_ext _ _ (fun n => every p * (k n - reserved C n) + eta n * (k n - reserved C n))).
    2: { intros n. pose proof (reserved_size n). unfold price_of, pos. fold (eta n). rewrite Z.max_l by lia. ring. }
    rewrite zsum_plus, zsum_scale.
    assert (zsum touched (fun n => eta n * (k n - reserved C n)) <= zsum touched (fun n => k n * price_of {| every := 0; nodes := nodes p |} n)) as H1.
    { apply zsum_le_in. intros n _. unfold price_of. cbn [every nodes]. fold (eta n). pose proof (reserved_size n). specialize (NE n). nia. }
    assert (not_negative {| every := 0; nodes := nodes p |} = true) as NN'.
    { unfold not_negative. cbn [every nodes]. apply forallb_forall. intros e He. apply Z.leb_le. auto. }
    pose proof (prices_paid _ NN') as H2. unfold paid in *. cbn [every nodes] in H2.
    assert (zsum touched (fun n => k n - reserved C n) <= total P - all_reserved C) as H3.
    { rewrite (zsum_ext _ _ (fun n => k n + - reserved C n)) by (intros; lia). rewrite zsum_plus, zsum_opp. pose proof size_rows. pose proof all_reserved_le. lia. }
    nia.
  Qed.

  Lemma reach_rows_sound menus p (x : Z -> Z) U : NoDup (map fst menus) -> reach_rows P C menus p = Got U ->
    (forall n m, In (n, m) menus -> exists v, In (k n, v) m /\ x n <= v) -> (forall n, ~ In n (map fst menus) -> x n <= 0) ->
    zsum touched (fun n => pos (x n)) <= U.
  Proof.
    intros ND H HM HN. unfold reach_rows in H. set (q := reach_price P C menus p) in *. destruct (not_negative q) eqn:NN; [|discriminate]. inversion H as [HU]. clear H.
    set (over := fun e : Z * list (Z * Z) => beyond_reserved (price_of q (fst e)) (reserved C (fst e)) (snd e)).
    assert (forall e, 0 <= over e) as NO by (intros e; unfold over, beyond_reserved; destruct (highest _); unfold pos; lia).
    transitivity (zsum touched (fun n => price_of q n * pos (k n - reserved C n) + zsum menus (fun e => if Z.eqb (fst e) n then over e else 0))).
    - apply zsum_le_in. intros n _. pose proof (price_of_nonneg q n NN) as NP. destruct (in_dec Z.eq_dec n (map fst menus)) as [I|NI].
      + apply in_map_iff in I as ([n' m] & E & I). cbn [fst] in E. subst n'. rewrite (zsum_key menus n m over ND I).
        destruct (HM n m I) as (v & Iv & Lv). unfold over, beyond_reserved. cbn [fst snd].
        destruct (highest_ge (map (fun e => snd e - price_of q n * pos (fst e - reserved C n)) m) (v - price_of q n * pos (k n - reserved C n))) as (y & -> & Ly).
        { apply in_map_iff. exists (k n, v). auto. }
        unfold pos in *. pose proof (reserved_size n). nia.
      + specialize (HN n NI). rewrite zsum_no_key by exact NI. unfold pos in *. pose proof (reserved_size n). nia.
    - rewrite zsum_plus. pose proof (prices_reserved q NN). pose proof (over_menus menus over ND (fun e _ _ => NO e)). lia.
  Qed.

  Lemma lose_rows_sound menus p (x : Z -> Z) : NoDup (map fst menus) ->
    (forall n m, In (n, m) menus -> exists v, In (k n, v) m /\ x n <= v) -> (forall n, ~ In n (map fst menus) -> x n <= 0) -> (forall n, ~ In n touched -> 0 <= x n) ->
    match lose_rows P C menus p with Got T => zsum touched x <= T | Impossible => False | Failed => True end.
  Proof.
    intros ND HM HN HX. unfold lose_rows. set (q := lose_price P C menus p). cbv zeta. clearbody q. destruct (not_negative q) eqn:NN; [|exact I].
    set (over := fun e : Z * list (Z * Z) => match beyond (price_of q (fst e)) (snd e) with Some y => y | None => 0 end).
    assert (forall n m, In (n, m) menus -> exists y, beyond (price_of q n) m = Some y /\ x n - price_of q n * k n <= y) as HB.
    { intros n m I. destruct (HM n m I) as (v & Iv & Lv).
      destruct (highest_ge (map (fun e => snd e - price_of q n * fst e) m) (v - price_of q n * k n)) as (y & Hy & Ly).
      { apply in_map_iff. exists (k n, v). auto. }
      exists y. split; [exact Hy|lia]. }
    set (step := fun e : Z * list (Z * Z) => match beyond (price_of q (fst e)) (snd e) with Some x => Got x | None => Impossible end).
    assert (each_one step menus = Got (map over menus)) as ES.
    { clear HM ND HN. revert HB. induction menus as [|[n m] menus IH]; intros HB; [reflexivity|]. cbn [each_one map].
      rewrite IH by (intros n' m' I; apply HB; right; exact I). destruct (HB n m (or_introl eq_refl)) as (y & Hy & _).
      unfold step, over. cbn [fst snd]. rewrite Hy. reflexivity. }
    change (match bind (each_one step menus) (fun most => Got (paid P q + zsum most (fun x => x))) with Got T => zsum touched x <= T | Impossible => False | Failed => True end).
    rewrite ES. cbn [bind]. rewrite zsum_map.
    transitivity (zsum touched (fun n => k n * price_of q n + zsum menus (fun e => if Z.eqb (fst e) n then over e else 0))).
    - apply zsum_le_in. intros n _. pose proof (price_of_nonneg q n NN) as NP. pose proof (size_left n) as [NK _]. destruct (in_dec Z.eq_dec n (map fst menus)) as [I|NI].
      + apply in_map_iff in I as ([n' m] & E & I). cbn [fst] in E. subst n'. rewrite (zsum_key menus n m over ND I).
        destruct (HB n m I) as (y & Hy & Ly). unfold over. cbn [fst snd]. rewrite Hy. lia.
      + specialize (HN n NI). rewrite zsum_no_key by exact NI. nia.
    - rewrite zsum_plus. pose proof (prices_paid q NN) as PP. pose proof (over_menus menus over ND) as O.
      assert (forall e, In e menus -> ~ In (fst e) touched -> 0 <= over e) as NO.
      { intros [n m] I NI. cbn [fst] in NI. destruct (HB n m I) as (y & Hy & Ly). unfold over. cbn [fst snd]. rewrite Hy. rewrite (untouched_size n NI) in Ly. specialize (HX n NI). lia. }
      apply Z.add_le_mono; [exact PP|exact (O NO)].
  Qed.
End OneRow.
