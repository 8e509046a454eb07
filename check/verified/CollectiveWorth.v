(* What flips are worth: weights (5), sizes (6), covers (6a), and the most that an attack is worth. *)
From Coq Require Import ZArith List Bool Lia Psatz Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units Rows Leaf Losses Trees Sound Parts Collective.
Import ListNotations.
Open Scope Z_scope.

Lemma upward_least x c w : 0 < c -> x <= c * w -> upward x c <= w.
Proof. intros C H. unfold upward. assert (- w <= (- x) / c); [apply Z.div_le_lower_bound; lia|lia]. Qed.

Lemma upward_mono x y c : 0 < c -> x <= y -> upward x c <= upward y c.
Proof. intros C H. apply upward_least; [exact C|]. pose proof (upward_ge y c C). lia. Qed.

Lemma upward_nonneg x c : 0 < c -> 0 <= x -> 0 <= upward x c.
Proof. intros C H. unfold upward. assert ((- x) / c <= 0); [apply Z.div_le_upper_bound; lia|lia]. Qed.

Lemma root_spec x : 0 <= x -> 0 <= root x /\ x <= root x * root x.
Proof. intros H. unfold root. pose proof (Z.sqrt_spec x H). pose proof (Z.sqrt_nonneg x). unfold Z.succ in *. lia. Qed.

Lemma one_positive : 0 < ONE.
Proof. reflexivity. Qed.

Lemma fine_positive : 0 < fine.
Proof. reflexivity. Qed.

Lemma fold_max_ge {A} (l : list A) f a : In a l -> f a <= fold_right (fun x w => Z.max (f x) w) 0 l.
Proof. induction l as [|b l IH]; intros I; [destruct I|]. cbn [fold_right]. destruct I as [->|I]; [|specialize (IH I)]; lia. Qed.

Lemma fold_max_le {A} (l : list A) f m : 0 <= m -> (forall a, In a l -> f a <= m) -> fold_right (fun x w => Z.max (f x) w) 0 l <= m.
Proof. intros M. induction l as [|a l IH]; intros H; cbn [fold_right]; [exact M|]. apply Z.max_lub; [apply H; left; reflexivity|apply IH; intros; apply H; right; assumption]. Qed.

Lemma fold_max_nonneg {A} (l : list A) f : 0 <= fold_right (fun x w => Z.max (f x) w) 0 l.
Proof. induction l; cbn [fold_right]; lia. Qed.

Lemma group_has {A} (l : list (Z * A)) n a : In (n, a) l -> exists g, In (n, g) (group l) /\ In a g.
Proof.
  intros I. apply (Permutation_in _ (Permutation_sym (sort_perm l))) in I. unfold group. induction (sort l) as [|[m b] r IH]; [destruct I|]. cbn [gather].
  destruct I as [E|I].
  - inversion E; subst. destruct (gather r) as [|[n' g] groups]; [exists [a]|destruct (Z.eqb_spec n n'); [exists (a :: g)|exists [a]]]; split; left; reflexivity.
  - destruct (IH I) as (g & G1 & G2). destruct (gather r) as [|[n' g'] groups]; [destruct G1|]. destruct (Z.eqb_spec m n') as [->|].
    + destruct G1 as [E|G1]; [inversion E; subst; exists (b :: g); split; [left; reflexivity|right; exact G2]|exists g; split; [right; exact G1|exact G2]].
    + exists g. split; [right; exact G1|exact G2].
Qed.

Lemma one_value {A} (l : list (Z * A)) n a b : NoDup (map fst l) -> In (n, a) l -> In (n, b) l -> a = b.
Proof.
  induction l as [|[m c] l IH]; intros ND I J; [destruct I|]. cbn [map fst] in ND. inversion ND as [|? ? NI ND']; subst.
  destruct I as [I|I], J as [J|J]; [congruence| | |auto].
  - inversion I; subst. destruct NI. apply (in_map fst _ (n, b)). exact J.
  - inversion J; subst. destruct NI. apply (in_map fst _ (n, a)). exact I.
Qed.

Lemma sift_map stop rows f g : map g (sift stop rows f) = sift stop rows (fun d ws => g (f d ws)).
Proof. induction rows as [|[d [ws square]] rows IH]; [reflexivity|]. cbn [sift]. destruct (stop square); cbn [map]; [reflexivity|]. rewrite IH. reflexivity. Qed.

(* Shares of a number, in units of 1 / ONE and none above 1, add up to 1 if the number is reached. *)
Lemma shares_reach {A} (F : list A) (x : A -> Z) c : 0 < c -> (forall f, 0 <= x f) -> c <= zsum F x ->
  ONE <= zsum F (fun f => Z.min ONE (upward (ONE * x f) c)).
Proof.
  intros C N H. pose proof one_positive as OP. set (u := fun f => upward (ONE * x f) c).
  assert (forall f, 0 <= u f) as UN by (intros f; apply upward_nonneg; [exact C|apply Z.mul_nonneg_nonneg; [lia|apply N]]).
  destruct (existsb (fun f => Z.leb ONE (u f)) F) eqn:E.
  - apply existsb_exists in E as (f & I & E). apply Z.leb_le in E.
    etransitivity; [|apply (zsum_mem F (fun f => Z.min ONE (u f)) f I); intros g _; specialize (UN g); lia]. cbn beta. lia.
  - rewrite (zsum_ext_in F _ u).
    + apply (Z.mul_le_mono_pos_l _ _ c C). apply Z.le_trans with (zsum F (fun f => ONE * x f)).
      * rewrite zsum_scale, Z.mul_comm. apply Z.mul_le_mono_nonneg_l; lia.
      * rewrite <- zsum_scale. apply zsum_le_in. intros f _. apply upward_ge. exact C.
    + intros f I. fold (u f). apply Z.min_r. assert (Z.leb ONE (u f) = false) as L; [|apply Z.leb_gt in L; lia].
      destruct (Z.leb ONE (u f)) eqn:EL; [|reflexivity]. assert (existsb (fun f => Z.leb ONE (u f)) F = true); [|congruence]. apply existsb_exists. exists f. auto.
Qed.

(* A sum of some numbers of a list, k at most, is at most the sum of the k largest. *)
Lemma largest_sound k l S : (forall above, 0 <= above -> S <= k * above + zsum l (fun x => pos (x - above))) -> S <= largest k l.
Proof.
  intros H. unfold largest. destruct (Z.leb _ k).
  - specialize (H 0 (Z.le_refl 0)). rewrite Z.mul_0_r, (zsum_ext l _ pos) in H by (intros; f_equal; lia). lia.
  - cbn zeta. apply H. destruct (0 <? k); [unfold pos; lia|]. apply zsum_nonneg. intros. unfold pos. lia.
Qed.

Section Worth.
  Variables (P : problem) (first : layer Z) (width : Z).
  Let ws (d : Z) := map (fun t => map (weight (snd t) d) (ids width)) (numbered first).
  Let opened (items : list (Z * (unit -> losing))) := map (fun it => (fst it, snd it tt)) items.

  (* Weights that are not above those that a checker computes. *)
  Definition weighs (rows : reached) (w : flip -> Z) : Prop :=
    (forall f, 0 <= w f <= ONE) /\
    (forall n d, free P n d = true -> ~ In n (map fst rows) -> w (n, d) = 0) /\
    forall n items d, free P n d = true -> In (n, items) rows -> w (n, d) <= weight_of (opened items) d (ws d) /\ w (n, d) <= weight_roughly (opened items) d /\
      forall square, squares (ws d) <= square -> w (n, d) <= weight_within (pace (opened items)) (root square).

  (* Of one class: a constant, what flips lose of it, and rows. *)
  Record rival := { constant : Z; loses : flip -> Z; of_rows : list (Z * (unit -> losing)) }.
  Definition sound_rival (r : rival) : Prop := 0 < constant r /\ losing_sound P first width (loses r) (of_rows r).
  Definition rival_weight (f : flip) (r : rival) : Z := Z.min ONE (upward (ONE * pos (loses r f)) (constant r)).
  Definition least_weight (rs : list rival) (f : flip) : Z := fold_right (fun r w => Z.max (rival_weight f r) w) 0 rs.

  Lemma rival_weight_nonneg f r : sound_rival r -> 0 <= rival_weight f r.
  Proof.
    intros [C _]. unfold rival_weight. assert (0 <= upward (ONE * pos (loses r f)) (constant r)); [|pose proof one_positive; lia].
    apply upward_nonneg; [exact C|]. pose proof one_positive. apply Z.mul_nonneg_nonneg; [lia|]. unfold pos. lia.
  Qed.

  Lemma weighs_least rs : (forall r, In r rs -> sound_rival r) ->
    let rows := group (concat (map (fun r => map (fun row => (fst row, (constant r, snd row))) (of_rows r)) rs)) in
    NoDup (map fst rows) -> weighs rows (least_weight rs).
  Proof.
    intros S rows ND. unfold rows in *. clear rows. set (all := concat _) in *.
    assert (forall r n row, In r rs -> In (n, row) (of_rows r) -> In (n, (constant r, row)) all) as ALL.
    { intros r n row Hr Hrow. unfold all. apply in_concat. eexists. split; [apply in_map; exact Hr|]. apply (in_map (fun row => (fst row, (constant r, snd row))) _ (n, row)). exact Hrow. }
    assert (forall r n d, In r rs -> free P n d = true -> ~ In n (map fst (of_rows r)) -> rival_weight (n, d) r <= 0) as NONE.
    { intros r n d Hr FR NI. destruct (S r Hr) as [C [OUT _]]. specialize (OUT n d FR NI). unfold rival_weight.
      assert (upward (ONE * pos (loses r (n, d))) (constant r) <= 0); [|lia]. apply upward_least; [exact C|]. unfold pos. rewrite Z.max_r by exact OUT. lia. }
    split; [|split].
    - intros f. split; [apply fold_max_nonneg|]. apply fold_max_le; [pose proof one_positive; lia|]. intros r _. unfold rival_weight. lia.
    - intros n d FR NI. apply Z.le_antisymm; [|apply fold_max_nonneg]. apply fold_max_le; [lia|]. intros r Hr. apply NONE; auto. intros I. apply NI.
      apply in_map_iff in I as ([n' row] & E & I). cbn [fst] in E. subst n'. destruct (group_has _ _ _ (ALL r n row Hr I)) as (g & G & _).
      apply (in_map fst _ (n, g)). exact G.
    - intros n items d FR I.
      assert (forall r, In r rs -> rival_weight (n, d) r <= 0 \/ exists row, In (n, row) (of_rows r) /\ In (constant r, row tt) (opened items)) as CASES.
      { intros r Hr. destruct (in_dec Z.eq_dec n (map fst (of_rows r))) as [J|J]; [right|left; apply NONE; auto].
        apply in_map_iff in J as ([n' row] & E & J). cbn [fst] in E. subst n'. exists row. split; [exact J|].
        destruct (group_has _ _ _ (ALL r n row Hr J)) as (g & G1 & G2). rewrite (one_value _ n g items ND G1 I) in G2.
        apply (in_map (fun it => (fst it, snd it tt)) _ (constant r, row)). exact G2. }
      split; [|split].
      + apply fold_max_le; [apply fold_max_nonneg|]. intros r Hr. destruct (CASES r Hr) as [Z0|(row & J & K)]; [etransitivity; [exact Z0|apply fold_max_nonneg]|].
        destruct (S r Hr) as [C [_ IN]]. destruct (IN n row d 0 J (Z.le_refl 0)) as (B & _ & _).
        etransitivity; [|exact (fold_max_ge _ (fun it => Z.min ONE (upward (ONE * pos (lost (snd it) 0 d (ws d))) (fst it))) _ K)]. cbn [fst snd].
        unfold rival_weight. apply Z.min_le_compat_l, upward_mono; [exact C|]. pose proof one_positive. apply Z.mul_le_mono_nonneg_l; [lia|]. unfold pos, ws in *. lia.
      + apply fold_max_le; [apply fold_max_nonneg|]. intros r Hr. destruct (CASES r Hr) as [Z0|(row & J & K)]; [etransitivity; [exact Z0|apply fold_max_nonneg]|].
        destruct (S r Hr) as [C [_ IN]]. destruct (IN n row d 0 J (Z.le_refl 0)) as (_ & _ & _ & B).
        etransitivity; [|exact (fold_max_ge _ (fun it => Z.min ONE (upward (ONE * pos (roughly_lost (snd it) d)) (fst it))) _ K)]. cbn [fst snd].
        unfold rival_weight. apply Z.min_le_compat_l, upward_mono; [exact C|]. pose proof one_positive. apply Z.mul_le_mono_nonneg_l; [lia|]. unfold pos. lia.
      + intros square SQ.
        assert (0 <= squares (ws d)) as SQ0 by (apply zsum_nonneg; intros; apply zsum_nonneg; intros; apply Z.square_nonneg).
        destruct (root_spec square ltac:(lia)) as [R0 R1]. unfold weight_within. set (r0 := root square) in *.
        pose proof (fold_max_nonneg (opened items) (fun it => upward (ONE * fine * root (steepness (snd it))) (fst it))) as PN. fold (pace (opened items)) in PN.
        pose proof fine_positive as FP.
        assert (0 <= upward (pace (opened items) * r0) fine) as UN by (apply upward_nonneg; [exact FP|apply Z.mul_nonneg_nonneg; assumption]).
        apply fold_max_le; [pose proof one_positive; lia|]. intros r Hr. destruct (CASES r Hr) as [Z0|(row & J & K)]; [pose proof one_positive; lia|].
        destruct (S r Hr) as [C [_ IN]]. destruct (IN n row d 0 J (Z.le_refl 0)) as (_ & SN & _).
        destruct (root_spec (steepness (row tt)) SN) as [T0 T1]. set (s0 := root (steepness (row tt))) in *.
        destruct (IN n row d (s0 * r0) J ltac:(apply Z.mul_nonneg_nonneg; assumption)) as (_ & _ & B & _).
        assert (loses r (n, d) <= s0 * r0) as LB.
        { apply B. fold (ws d). apply Z.le_trans with ((s0 * s0) * (r0 * r0)); [|lia]. apply Z.mul_le_mono_nonneg; lia. }
        unfold rival_weight. apply Z.min_le_compat_l, upward_least; [exact C|].
        pose proof (fold_max_ge _ (fun it => upward (ONE * fine * root (steepness (snd it))) (fst it)) _ K) as PG. cbn [fst snd] in PG. fold s0 (pace (opened items)) in PG.
        pose proof (upward_ge (ONE * fine * s0) (constant r) C) as U1. pose proof (upward_ge (pace (opened items) * r0) fine FP) as U2.
        set (pc := pace (opened items)) in *. set (U := upward (pc * r0) fine) in *.
        assert (ONE * fine * s0 <= constant r * pc) as V1 by (etransitivity; [exact U1|apply Z.mul_le_mono_nonneg_l; lia]).
        assert (ONE * fine * s0 * r0 <= constant r * (fine * U)) as V2.
        { apply Z.le_trans with (constant r * pc * r0); [apply Z.mul_le_mono_nonneg_r; assumption|]. rewrite <- Z.mul_assoc. apply Z.mul_le_mono_nonneg_l; lia. }
        apply Z.le_trans with (ONE * (s0 * r0)).
        * apply Z.mul_le_mono_nonneg_l; [pose proof one_positive; lia|]. assert (0 <= s0 * r0) by (apply Z.mul_nonneg_nonneg; assumption). unfold pos. lia.
        * apply (Z.mul_le_mono_pos_l _ _ fine FP). replace (fine * (ONE * (s0 * r0))) with (ONE * fine * s0 * r0) by ring.
          replace (fine * (constant r * U)) with (constant r * (fine * U)) by ring. exact V2.
  Qed.

  (* (5): flips that lose a constant have weights of ONE. *)
  Lemma weights_reach rs r F : (forall r, In r rs -> sound_rival r) -> In r rs -> constant r <= zsum F (loses r) -> ONE <= zsum F (least_weight rs).
  Proof.
    intros S Hr H. apply Z.le_trans with (zsum F (fun f => rival_weight f r)).
    2: { apply zsum_le_in. intros f _. exact (fold_max_ge rs (rival_weight f) r Hr). }
    apply (shares_reach F (fun f => pos (loses r f)) (constant r)); [apply (S r Hr)|intros f; unfold pos; lia|].
    etransitivity; [exact H|]. apply zsum_le_in. intros. unfold pos. lia.
  Qed.

  Definition good_stake (s : stake) : Prop :=
    0 <= by_weight s /\ 0 <= by_size s /\ 0 <= few (grades s) /\ 0 <= more (grades s) /\ forall c, In c (covers s) -> 0 <= by_cover c /\ 0 < rest c.

  Lemma size_of_nonneg s w : 0 <= few s -> 0 <= more s -> 0 <= size_of s w.
  Proof. intros. unfold size_of. destruct (Z.leb w 0); [lia|]. destruct (Z.leb (least s) w); lia. Qed.

  Lemma covered_mono c v w : 0 <= by_cover c -> 0 < rest c -> v <= w -> covered c v <= covered c w.
  Proof.
    intros B R H. unfold covered. apply Z.mul_le_mono_nonneg_l; [exact B|]. apply Z.min_le_compat_l, upward_mono; [exact R|].
    pose proof one_positive. apply Z.mul_le_mono_nonneg_l; lia.
  Qed.

  Lemma covered_zero c : covered c 0 = 0.
  Proof. apply Z.mul_0_r. Qed.

  Lemma worth_of_mono s f v w : good_stake s -> v <= w -> worth_of s f v <= worth_of s f w.
  Proof.
    intros (A & B & C & D & E) H. unfold worth_of. assert (size_of (grades s) v <= size_of (grades s) w) as M.
    { unfold size_of. destruct (Z.leb_spec v 0), (Z.leb_spec w 0); try lia; destruct (Z.leb_spec (least (grades s)) w); try lia; destruct (Z.leb_spec (least (grades s)) v); lia. }
    apply Z.add_le_mono; [apply Z.add_le_mono; apply Z.mul_le_mono_nonneg_l; assumption|].
    apply zsum_le_in. intros c I. destruct (existsb _ _); [lia|]. apply covered_mono; [apply E; exact I|apply E; exact I|exact H].
  Qed.

  Lemma worth_of_zero s f : worth_of s f 0 = 0.
  Proof.
    unfold worth_of, size_of. rewrite zsum_zero; [cbn; lia|]. intros c _. destruct (existsb _ _); [reflexivity|apply covered_zero].
  Qed.

  Lemma worth_of_nonneg s f w : good_stake s -> 0 <= w -> 0 <= worth_of s f w.
  Proof. intros G H. rewrite <- (worth_of_zero s f). apply worth_of_mono; assumption. Qed.

  Lemma worth_of_at_most s f v w : good_stake s -> 0 <= v -> v <= w -> worth_of s f v <= worth_at_most s w.
  Proof.
    intros G V H. etransitivity; [exact (worth_of_mono s f v w G H)|]. unfold worth_of, worth_at_most. apply Z.add_le_mono_l.
    apply zsum_le_in. intros c I. destruct G as (_ & _ & _ & _ & E). destruct (existsb _ _); [|lia].
    rewrite <- (covered_zero c). apply covered_mono; [apply E; exact I|apply E; exact I|lia].
  Qed.

  Section Most.
    Variable all : list ((stake * reached) * (flip -> Z)).
    Hypothesis GOOD : forall e, In e all -> good_stake (fst (fst e)) /\ NoDup (map fst (snd (fst e))) /\ weighs (snd (fst e)) (snd e).
    Let rows := by_row (map fst all).
    Hypothesis DISTINCT : NoDup (map fst rows).

    (* (3) *)
    Definition worth_of_flip (f : flip) : Z := zsum all (fun e => worth_of (fst (fst e)) f (snd e f)).

    Lemma worth_nonneg f : 0 <= worth_of_flip f.
    Proof. apply zsum_nonneg. intros e He. destruct (GOOD e He) as (G & _ & W & _). apply worth_of_nonneg; [exact G|apply W]. Qed.

    Lemma worth_outside n d : free P n d = true -> ~ In n (map fst rows) -> worth_of_flip (n, d) = 0.
    Proof.
      intros FR NI. apply zsum_zero. intros e He. destruct (GOOD e He) as (_ & _ & _ & W & _). rewrite W; [apply worth_of_zero|exact FR|].
      intros I. apply NI. apply in_map_iff in I as (r & E & I).
      assert (In (n, (fst (fst e), snd r)) (flat_map (fun s => map (fun r => (fst r, (fst s, snd r))) (snd s)) (map fst all))) as J.
      { apply in_flat_map. exists (fst e). split; [apply in_map; exact He|]. rewrite <- E. apply (in_map (fun r => (fst r, (fst (fst e), snd r)))). exact I. }
      destruct (group_has _ _ _ J) as (g & G & _). apply (in_map fst _ (n, g)). exact G.
    Qed.

    (* What is said of each share line of a row is true of their sum. *)
    Lemma worth_inside n d items (g : stake * list (Z * (unit -> losing)) -> Z) : free P n d = true -> In (n, items) rows ->
      (forall e items, In e all -> In (n, items) (snd (fst e)) -> worth_of (fst (fst e)) (n, d) (snd e (n, d)) <= g (fst (fst e), items)) ->
      worth_of_flip (n, d) <= zsum items g.
    Proof.
      intros FR I H.
      pose proof (group_sum (flat_map (fun s : stake * reached => map (fun r => (fst r, (fst s, snd r))) (snd s)) (map fst all)) (fun k it => if Z.eqb k n then g it else 0)) as GS.
      fold (by_row (map fst all)) in GS. fold rows in GS.
      rewrite (zsum_ext rows _ (fun r => if Z.eqb (fst r) n then zsum (snd r) g else 0)) in GS
        by (intros r; destruct (Z.eqb (fst r) n); [reflexivity|apply zsum_zero; reflexivity]).
      rewrite (zsum_key rows n items (fun r => zsum (snd r) g) DISTINCT I) in GS. cbn [snd] in GS. rewrite GS, zsum_flat_map, zsum_map.
      apply zsum_le_in. intros e He. rewrite zsum_map. cbn [fst snd]. destruct (GOOD e He) as (_ & ND & _ & W & _).
      destruct (in_dec Z.eq_dec n (map fst (snd (fst e)))) as [J|J].
      - apply in_map_iff in J as ([n' its] & E & J). cbn [fst] in E. subst n'. rewrite (zsum_key _ n its (fun r => g (fst (fst e), snd r)) ND J). apply H; assumption.
      - rewrite (zsum_no_key _ n (fun r => g (fst (fst e), snd r)) J), (W n d FR J), worth_of_zero. lia.
    Qed.

    Lemma amounts_sound n items price above : 0 <= above -> In (n, items) rows ->
      zsum (ids (count P)) (fun d => if free P n d then pos (worth_of_flip (n, d) - price - above) else 0)
      <= zsum (amounts P (attribute_rows (count P) width first) n price items) (fun x => pos (x - above)).
    Proof.
      intros AB I. rewrite <- (zsum_map _ (fun x => pos (x - above)) (fun x => x)). unfold amounts. rewrite sift_map. apply sift_sound. intros d. cbn zeta. fold (ws d).
      destruct (free P n d) eqn:FR; [|split; [unfold pos; lia|lia]]. cbn [andb]. split.
      - assert (worth_of_flip (n, d) <= zsum items (fun e => worth_at_most (fst e) (weight_roughly (opened (snd e)) d))) as R.
        { apply worth_inside; auto. intros e its He Hi. destruct (GOOD e He) as (G & _ & _ & _ & W). cbn [fst snd]. apply worth_of_at_most; [exact G|apply (GOOD e He)|]. apply (W n its d FR Hi). }
        rewrite (zsum_map _ _ (fun e => worth_at_most (fst e) (weight_roughly (snd e) d))). cbn [fst snd]. unfold opened in R.
        match goal with |- context [Z.leb ?a ?b] => destruct (Z.leb_spec a b) end; cbn [negb]; [unfold pos; lia|]. clear R.
        assert (worth_of_flip (n, d) <= zsum items (fun e => worth_of (fst e) (n, d) (weight_of (opened (snd e)) d (ws d)))) as B; [|rewrite zsum_map; cbn [fst snd]; unfold pos; unfold opened in B; lia].
        apply worth_inside; auto. intros e its He Hi. destruct (GOOD e He) as (G & _ & _ & _ & W). cbn [fst snd]. apply worth_of_mono; [exact G|]. apply (W n its d FR Hi).
      - intros square SQ ST. apply Z.leb_le in ST. rewrite !zsum_map in ST. cbn [fst snd] in ST.
        assert (worth_of_flip (n, d) <= zsum items (fun e => worth_at_most (fst e) (weight_within (pace (opened (snd e))) (root square)))) as B; [|unfold pos; unfold opened in B; lia].
        apply worth_inside; auto. intros e its He Hi. destruct (GOOD e He) as (G & _ & _ & _ & W). cbn [fst snd]. apply worth_of_at_most; [exact G|apply (GOOD e He)|]. apply (W n its d FR Hi). exact SQ.
    Qed.

    Lemma size_left F n : admissible P F -> size (of_node n F) <= pos (left P n).
    Proof.
      intros A. destruct (of_node n F) as [|f r] eqn:E; [unfold size, pos; cbn; lia|].
      assert (In f (of_node n F)) as I by (rewrite E; left; reflexivity). unfold of_node in I. apply filter_In in I as [I1 I2]. apply Z.eqb_eq in I2.
      destruct A as (_ & _ & Q & q). specialize (q f I1). rewrite I2, E in q. pose proof (size_of_node_le n F). rewrite E in *. unfold left, pos. lia.
    Qed.

    Lemma row_above F n items price above : admissible P F -> 0 <= above -> In (n, items) rows ->
      zsum (of_node n F) (fun f => pos (worth_of_flip f - price - above)) <= zsum (amounts P (attribute_rows (count P) width first) n price items) (fun x => pos (x - above)).
    Proof.
      intros A AB I. etransitivity; [|exact (amounts_sound n items price above AB I)].
      rewrite (zsum_ext_in (of_node n F) _ (fun f => (fun d => if free P n d then pos (worth_of_flip (n, d) - price - above) else 0) (snd f))).
      2: { intros [n' d] Hf. unfold of_node in Hf. apply filter_In in Hf as [Hf En]. apply Z.eqb_eq in En. cbn [fst snd] in *. subst n'.
           destruct (made_is_free P F _ A Hf) as [FR _]. cbn [fst snd] in FR. rewrite FR. reflexivity. }
      rewrite <- (zsum_map (of_node n F) snd (fun d => if free P n d then pos (worth_of_flip (n, d) - price - above) else 0)). apply zsum_incl.
      - assert (forall l : list flip, NoDup l -> (forall f, In f l -> fst f = n) -> NoDup (map snd l)) as ND.
        { induction l as [|f l IH]; intros N1 N2; cbn [map]; constructor; inversion N1; subst; [|apply IH; auto; intros; apply N2; right; assumption].
          intros C. apply in_map_iff in C as (f' & E1 & C). assert (f' = f); [|subst; contradiction].
          rewrite (surjective_pairing f), (surjective_pairing f'), E1, (N2 f (or_introl eq_refl)), (N2 f' (or_intror C)). reflexivity. }
        apply ND; [apply NoDup_filter; apply A|]. intros f Hf. unfold of_node in Hf. apply filter_In in Hf as [_ En]. apply Z.eqb_eq. exact En.
      - intros d Hd. apply in_map_iff in Hd as (f & <- & Hf). unfold of_node in Hf. apply filter_In in Hf as [Hf _]. apply ids_in. apply A. exact Hf.
      - intros d _. destruct (free P n d); unfold pos; lia.
    Qed.

    (* (4) *)
    Lemma most_worth_sound F m p M : attack P m F -> most_worth P (attribute_rows (count P) width first) m p (map fst all) = Some M ->
      zsum F worth_of_flip <= M.
    Proof.
      intros [A AN]. unfold most_worth. fold rows. destruct (ascending rows && not_negative p) eqn:E; [|discriminate]. apply andb_prop in E as [_ NN].
      destruct m as [m|]; intros [= <-].
      - destruct AN as (nodes & LEN & IN). pose proof (not_negative_spec p NN) as [TH _]. set (theta := every p) in *.
        assert (zsum F worth_of_flip <= size F * theta + zsum F (fun f => pos (worth_of_flip f - theta))) as S1.
        { unfold size. rewrite size_sum, <- zsum_scale_r, <- zsum_plus. apply zsum_le_in. intros f _. unfold pos. lia. }
        assert (size F * theta <= total P * theta) as S2 by (apply Z.mul_le_mono_nonneg_r; [exact TH|apply A]).
        set (hit := nodup Z.eq_dec (map fst F)).
        assert (NoDup hit) as NH by apply NoDup_nodup.
        assert (Z.of_nat (length hit) <= m) as LH.
        { etransitivity; [|exact LEN]. apply inj_le. apply NoDup_incl_length; [exact NH|]. intros n Hn. unfold hit in Hn. apply nodup_In in Hn.
          apply in_map_iff in Hn as (f & <- & Hf). apply IN. exact Hf. }
        set (G := fun n => zsum (of_node n F) (fun f => pos (worth_of_flip f - theta))).
        assert (zsum F (fun f => pos (worth_of_flip f - theta)) = zsum hit G) as S3.
        { unfold G, of_node. rewrite (zsum_ext hit _ (fun n => zsum F (fun f => if Z.eqb n (fst f) then pos (worth_of_flip f - theta) else 0)))
            by (intros n; rewrite zsum_filter; apply zsum_ext; intros f; rewrite Z.eqb_sym; reflexivity).
          rewrite zsum_swap. apply zsum_ext_in. intros f Hf. symmetry. apply (zsum_only hit (fst f) (fun _ => pos (worth_of_flip f - theta)) NH).
          unfold hit. apply nodup_In. apply in_map. exact Hf. }
        rewrite S3 in S1. clear S3.
        assert (forall n, 0 <= G n) as GN by (intros n; apply zsum_nonneg; intros; unfold pos; lia).
        set (g := fun r : Z * list (stake * list (Z * (unit -> losing))) => largest (left P (fst r)) (amounts P (attribute_rows (count P) width first) (fst r) theta (snd r))).
        assert (forall n, In n hit -> G n <= 0 \/ exists items, In (n, items) rows /\ G n <= g (n, items)) as ROW.
        { intros n Hn. destruct (in_dec Z.eq_dec n (map fst rows)) as [J|J].
          - right. apply in_map_iff in J as ([n' items] & En & J). cbn [fst] in En. subst n'. exists items. split; [exact J|]. unfold g. cbn [fst snd].
            apply largest_sound. intros above AB.
            assert (size (of_node n F) <= left P n) as SL.
            { unfold hit in Hn. apply nodup_In in Hn. apply in_map_iff in Hn as (f & En & Hf). pose proof (size_left F n A) as SL.
              destruct (made_is_free P F f A Hf) as [FR _]. rewrite En in FR. unfold free in FR. apply andb_prop in FR as [FR _]. apply Z.ltb_lt in FR. unfold pos in SL. lia. }
            apply Z.le_trans with (size (of_node n F) * above + zsum (of_node n F) (fun f => pos (worth_of_flip f - theta - above))).
            { unfold G, size. rewrite size_sum, <- zsum_scale_r, <- zsum_plus. apply zsum_le_in. intros f _. unfold pos. lia. }
            apply Z.add_le_mono; [apply Z.mul_le_mono_nonneg_r; assumption|]. exact (row_above F n items theta above A AB J).
          - left. unfold G. apply Z.le_trans with (zsum (of_node n F) (fun _ => 0)); [|rewrite zsum_zero; [lia|reflexivity]]. apply zsum_le_in.
            intros [n' d] Hf. unfold of_node in Hf. apply filter_In in Hf as [Hf En]. apply Z.eqb_eq in En. cbn [fst] in En. subst n'.
            destruct (made_is_free P F _ A Hf) as [FR _]. cbn [fst snd] in FR. rewrite (worth_outside n d FR J). unfold pos. lia. }
        assert (zsum hit G <= largest m (map g rows)); [|lia]. apply largest_sound. intros above AB. rewrite zsum_map.
        apply Z.le_trans with (Z.of_nat (length hit) * above + zsum hit (fun n => pos (G n - above))).
        { rewrite size_sum, <- zsum_scale_r, <- zsum_plus. apply zsum_le_in. intros n _. unfold pos. lia. }
        apply Z.add_le_mono; [apply Z.mul_le_mono_nonneg_r; assumption|].
        apply Z.le_trans with (zsum hit (fun n => zsum rows (fun r => if Z.eqb (fst r) n then pos (g r - above) else 0))).
        + apply zsum_le_in. intros n Hn.
          assert (0 <= zsum rows (fun r => if Z.eqb (fst r) n then pos (g r - above) else 0)) as N0 by (apply zsum_nonneg; intros r _; destruct (Z.eqb (fst r) n); unfold pos; lia).
          destruct (ROW n Hn) as [L|(items & J & L)]; [unfold pos in *; lia|].
          rewrite (zsum_key rows n items (fun r => pos (g r - above)) DISTINCT J). unfold pos. lia.
        + rewrite zsum_swap. apply zsum_le_in. intros r _.
          destruct (in_dec Z.eq_dec (fst r) hit) as [J|J].
          * rewrite (zsum_ext hit _ (fun n => if Z.eqb n (fst r) then pos (g r - above) else 0)) by (intros n; rewrite Z.eqb_sym; reflexivity).
            rewrite (zsum_only hit (fst r) (fun _ => pos (g r - above)) NH J). lia.
          * rewrite zsum_zero; [unfold pos; lia|]. intros n Hn. destruct (Z.eqb_spec (fst r) n) as [En|]; [subst; contradiction|reflexivity].
      - etransitivity; [apply (selection P F p worth_of_flip (map fst rows) A NN)|].
        + intros n d Hf NI. rewrite worth_outside; [apply price_of_nonneg; exact NN|apply (made_is_free P F (n, d) A Hf)|exact NI].
        + apply Z.add_le_mono_l. rewrite zsum_map. apply zsum_le_in. intros [n items] Hr. cbn [fst snd].
          pose proof (amounts_sound n items (price_of p n) 0 (Z.le_refl 0) Hr) as AS.
          rewrite (zsum_ext (amounts _ _ _ _ _) (fun x => pos (x - 0)) pos) in AS by (intros x; f_equal; lia). etransitivity; [|exact AS].
          unfold excess. apply Z.eq_le_incl, zsum_ext. intros d. rewrite Z.sub_0_r. reflexivity.
    Qed.
  End Most.
End Worth.

Lemma some_eq {A} (a b : A) : Some a = Some b -> a = b.
Proof. congruence. Qed.

Lemma filter_admissible P F keep : admissible P F -> admissible P (filter keep F).
Proof.
  intros (ND & PF & Q & q). assert (forall f, In f (filter keep F) -> In f F) as I by (intros f Hf; apply filter_In in Hf; apply Hf).
  split; [apply NoDup_filter; exact ND|]. split; [auto|].
  assert (forall l : list flip, size (filter keep l) <= size l) as S.
  { intros l. unfold size. rewrite !size_sum, zsum_filter. apply zsum_le_in. intros f _. destruct (keep f); lia. }
  split; [etransitivity; [apply S|exact Q]|]. intros f Hf. etransitivity; [|apply q; auto]. rewrite !size_of_node, zsum_filter. apply zsum_le_in.
  intros g _. destruct (keep g); [lia|]. destruct (Z.eqb (fst g) (fst f)); lia.
Qed.

Lemma limited_admissible P F k : admissible P F -> size F <= k -> admissible (limited P k) F.
Proof. intros (ND & PF & Q & q) H. split; [exact ND|]. split; [exact PF|]. split; [cbn [limited total]; lia|exact q]. Qed.

Lemma limited_free P k n d : free (limited P k) n d = true -> free P n d = true.
Proof.
  unfold free, left. cbn [limited each total permitted]. intros H. apply andb_prop in H as [H1 H2]. rewrite H2, andb_true_r. apply Z.ltb_lt in H1. apply Z.ltb_lt. lia.
Qed.

(* (6): flips that have weights of ONE have sizes of ONE. *)
Lemma grade_sound P first width rows w F k p s : NoDup (map fst rows) -> weighs P first width rows w -> admissible P F ->
  grade P (attribute_rows (count P) width first) rows k p = Some s ->
  (0 <= few s /\ 0 <= more s) /\ (ONE <= zsum F w -> ONE <= zsum F (fun f => size_of s (w f))).
Proof.
  intros ND W A. unfold grade. set (room := Z.min _ _).
  destruct (most_worth _ _ _ _ _) as [T|] eqn:ET; [|discriminate]. destruct (Z.leb 1 k && Z.ltb T ONE) eqn:E; [|discriminate]. intros ES. apply some_eq in ES. subst s.
  apply andb_prop in E as [K T1]. apply Z.leb_le in K. apply Z.ltb_lt in T1. pose proof one_positive as OP. cbn [few more].
  assert (0 <= upward ONE k) as U1 by (apply upward_nonneg; lia). assert (0 <= upward ONE (k + 1)) as U2 by (apply upward_nonneg; lia).
  split; [destruct (Z.leb k room), (Z.leb (k + 1) room); lia|]. intros REACH.
  assert (forall G, admissible P G -> size G <= k - 1 -> zsum G w <= T) as MOST.
  { intros G AG SG. set (all := [((only_weights, rows), w)]).
    assert (zsum G (worth_of_flip all) <= T) as B.
    { apply (most_worth_sound (limited P (k - 1)) first width all) with (m := None) (p := p).
      - intros e [<-|[]]. cbn [fst snd]. split; [unfold good_stake; cbn; repeat split; try lia; contradiction|]. split; [exact ND|]. destruct W as (W1 & W2 & W3). split; [exact W1|]. split.
        + intros n d FR. apply W2. exact (limited_free P (k - 1) n d FR).
        + intros n items d FR. apply W3. exact (limited_free P (k - 1) n d FR).
      - apply ascending_nodup. unfold most_worth in ET. destruct (ascending _); [reflexivity|discriminate].
      - split; [apply limited_admissible; assumption|exact I].
      - exact ET. }
    rewrite (zsum_ext G (worth_of_flip all) w) in B; [exact B|]. intros f. unfold worth_of_flip, all. rewrite zsum_cons, zsum_nil. cbn [fst snd]. unfold worth_of. cbn [by_weight by_size covers only_weights]. rewrite zsum_nil. lia. }
  set (s := {| least := _; few := _; more := _ |}). set (G := filter (fun f => Z.ltb 0 (w f)) F).
  assert (admissible P G) as AG by (apply filter_admissible; exact A).
  assert (forall f, In f G -> In f F /\ 0 < w f) as IG by (intros f Hf; unfold G in Hf; apply filter_In in Hf as [H1 H2]; apply Z.ltb_lt in H2; auto).
  assert (zsum G w = zsum F w) as SG.
  { unfold G. rewrite zsum_filter. apply zsum_ext. intros f. destruct (Z.ltb_spec 0 (w f)); [reflexivity|]. destruct W as [W _]. specialize (W f). lia. }
  assert (size G <= room) as RG.
  { apply Z.min_glb; [apply AG|]. destruct W as (_ & W & _).
    apply Z.le_trans with (zsum rows (fun r => size (of_node (fst r) G))); [|apply zsum_le_in; intros r _; apply size_left; exact AG].
    rewrite (zsum_ext rows _ (fun r => zsum G (fun f => if Z.eqb (fst f) (fst r) then 1 else 0))) by (intros r; apply size_of_node).
    rewrite zsum_swap. unfold size. rewrite size_sum. apply zsum_le_in. intros f Hf. destruct (IG f Hf) as [HF WF].
    destruct (in_dec Z.eq_dec (fst f) (map fst rows)) as [J|J].
    - apply in_map_iff in J as (r & E & J). etransitivity; [|apply (zsum_mem rows (fun r => if Z.eqb (fst f) (fst r) then 1 else 0) r J); intros b _; destruct (Z.eqb _ _); lia].
      cbn beta. rewrite E, Z.eqb_refl. lia.
    - exfalso. destruct (made_is_free P F f A HF) as [FR _]. rewrite (surjective_pairing f), (W _ _ FR J) in WF. lia. }
  assert (0 <= few s /\ 0 <= more s) as [N1 N2] by (unfold s; cbn [few more]; destruct (Z.leb k room), (Z.leb (k + 1) room); lia).
  apply Z.le_trans with (zsum G (fun f => size_of s (w f))).
  2: { unfold G. rewrite zsum_filter. apply zsum_le_in. intros f _. destruct (Z.ltb 0 (w f)); [lia|]. apply size_of_nonneg; assumption. }
  destruct (Z_le_gt_dec (size G) (k - 1)) as [L|L]; [specialize (MOST G AG L); lia|].
  assert (forall least_size, (forall f, In f G -> least_size <= size_of s (w f)) -> size G * least_size <= zsum G (fun f => size_of s (w f))) as EACH.
  { intros least_size H. unfold size. rewrite size_sum, <- zsum_scale_r. apply zsum_le_in. intros f Hf. specialize (H f Hf). lia. }
  destruct (Z_le_gt_dec (k + 1) (size G)) as [L2|L2].
  - apply Z.le_trans with (size G * upward ONE (k + 1)).
    + pose proof (upward_ge ONE (k + 1) ltac:(lia)). apply Z.le_trans with ((k + 1) * upward ONE (k + 1)); [lia|]. apply Z.mul_le_mono_nonneg_r; assumption.
    + apply EACH. intros f Hf. destruct (IG f Hf) as [_ WF]. unfold size_of. destruct (Z.leb_spec (w f) 0); [lia|].
      assert (more s = upward ONE (k + 1)) as <- by (unfold s; cbn [more]; destruct (Z.leb_spec (k + 1) room); [reflexivity|lia]).
      destruct (Z.leb (least s) (w f)); lia.
  - assert (size G = k) as SK by lia. apply Z.le_trans with (size G * upward ONE k).
    + rewrite SK. apply upward_ge. lia.
    + apply EACH. intros f Hf. destruct (IG f Hf) as [_ WF]. unfold size_of. destruct (Z.leb_spec (w f) 0); [lia|].
      assert (least s <= w f) as LE.
      { unfold s. cbn [least]. assert (NoDup G) as NG by apply AG. pose proof (zsum_without f G w NG Hf) as ZW. pose proof (size_without f G NG Hf) as SW.
        specialize (MOST (without f G) (filter_admissible P G _ AG)). lia. }
      apply Z.leb_le in LE. rewrite LE. assert (few s = upward ONE k) as <- by (unfold s; cbn [few]; destruct (Z.leb_spec k room); [reflexivity|lia]). lia.
Qed.

(* (6a): flips that have weights of ONE are worth ONE beside those that are taken as made. *)
Lemma covers_of_sound t P first width rows w F stated c : weighs P first width rows w -> admissible P F ->
  (forall d, get (weights_at t) d = map (fun tm => map (weight (snd tm) d) (ids width)) (numbered first)) ->
  In c (covers_of t P rows stated) -> 0 <= by_cover c -> 0 < rest c -> ONE <= zsum F w ->
  by_cover c * ONE <= zsum F (fun f => if existsb (same f) (taken c) then 0 else covered c (w f)).
Proof.
  intros (W1 & W2 & W3) A WS I B R REACH. set (others := filter (fun f => negb (existsb (same f) (taken c))) F).
  rewrite (zsum_ext F _ (fun f => if negb (existsb (same f) (taken c)) then covered c (w f) else 0)) by (intros f; destruct (existsb _ _); reflexivity).
  rewrite <- zsum_filter. fold others. unfold covered. rewrite zsum_scale. apply Z.mul_le_mono_nonneg_l; [exact B|].
  apply shares_reach; [exact R|intros f; apply W1|]. unfold covers_of in I. apply in_map_iff in I as ([gamma made] & EC & _). cbn [fst snd] in EC.
  set (weight_at := fun f : flip => _) in EC.
  assert (rest c = ONE - zsum made weight_at /\ taken c = made) as [ER ET] by (rewrite <- EC; split; reflexivity). clear EC.
  assert (zsum F w = zsum others w + zsum (filter (fun f => existsb (same f) made) F) w) as SPLIT.
  { unfold others. rewrite ET, !zsum_filter, <- zsum_plus. apply zsum_ext. intros f. destruct (existsb _ _); cbn [negb]; lia. }
  assert (forall f, 0 <= weight_at f) as NN.
  { intros f. unfold weight_at. destruct (free _ _ _); [apply fold_max_nonneg|lia]. }
  assert (zsum (filter (fun f => existsb (same f) made) F) w <= zsum made weight_at); [|lia].
  etransitivity; [apply zsum_le_in with (g := weight_at)|apply zsum_incl; [apply NoDup_filter, A| |auto]].
  - intros [n d] Hf. apply filter_In in Hf as [Hf _]. destruct (made_is_free P F _ A Hf) as [FR _]. cbn [fst snd] in FR. unfold weight_at. cbn [fst snd].
    rewrite FR, WS, get_tabulate. destruct (List.find _ rows) as [[n' items]|] eqn:FI.
    + apply find_some in FI as [FI En]. apply Z.eqb_eq in En. cbn [fst snd] in *. subst n'. apply (W3 n items d FR FI).
    + rewrite (W2 n d FR); [apply fold_max_nonneg|]. intros J. apply in_map_iff in J as (r & En & J). pose proof (find_none _ _ FI r J) as K. cbn beta in K. rewrite En, Z.eqb_refl in K. discriminate.
  - intros f Hf. apply filter_In in Hf as [_ Hf]. apply existsb_exists in Hf as (g & Hg & S). apply same_spec in S. subst g. exact Hg.
Qed.
