(* What a node receives is what `received` says: of attributes after flips, and of units whose sizes and errors are known. *)
From Coq Require Import ZArith QArith Qabs Qpower List Bool Lia Lqa Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Forward Units Leaf Sound Floats Roundings RoundedRow Arranged Deployed ComputedRow.
Import ListNotations.
Open Scope Z_scope.

Lemma find_in_combine {B} (l : list B) us j : length l = length us -> In j us -> exists b, List.find (fun e => Z.eqb (fst e) j) (combine us l) = Some (j, b) /\ In (j, b) (combine us l).
Proof.
  revert l. induction us as [|u us IH]; intros l L I; [destruct I|]. destruct l as [|b l]; [discriminate|]. cbn [combine List.find fst]. destruct (Z.eqb_spec u j) as [->|N].
  - exists b. split; [reflexivity|left; reflexivity].
  - destruct I as [->|I]; [contradiction|]. destruct (IH l ltac:(cbn [length] in L; lia) I) as (b' & E & Ib). exists b'. split; [exact E|right; exact Ib].
Qed.

Lemma at_unit_spec width f b j : holds width f b -> In j (ids width) -> fst (at_unit width b j) <= f j <= snd (at_unit width b j).
Proof. intros [L H] I. destruct (find_in_combine b (ids width) j L I) as (bd & E & Ib). unfold at_unit. rewrite E. apply H. exact Ib. Qed.

Lemma filter_either {B} (l : list B) p p1 p2 : (forall b, In b l -> p b = true -> p1 b = true \/ p2 b = true) ->
  (length (filter p l) <= length (filter p1 l) + length (filter p2 l))%nat.
Proof.
  induction l as [|b l IH]; intros H; [cbn; lia|]. specialize (IH (fun c I => H c (or_intror I))). specialize (H b (or_introl eq_refl)). cbn [filter].
  destruct (p b); [destruct (H eq_refl) as [-> | ->]|]; destruct (p1 b); destruct (p2 b); cbn [length]; lia.
Qed.

Lemma filter_mono {B} (l : list B) p q : (forall b, In b l -> p b = true -> q b = true) -> (length (filter p l) <= length (filter q l))%nat.
Proof.
  intros H. pose proof (filter_either l p q (fun _ => false) (fun b I E => or_introl (H b I E))) as X.
  assert (filter (fun _ : B => false) l = []) as Z by (clear; induction l; auto). rewrite Z in X. cbn [length] in X. lia.
Qed.

Lemma union_in x l : forall r, In x l \/ In x r -> In x (union l r).
Proof.
  induction l as [|a l IH]; [intros r [[]|I]; exact I|]. induction r as [|b r IHr]; cbn [union]; [intros [I|[]]; exact I|]. fold (union (a :: l) r).
  destruct (Z.ltb_spec a b); [|destruct (Z.ltb_spec b a)].
  - intros [[->|I]|I]; [left; reflexivity|right; apply IH; left; exact I|right; apply IH; right; exact I].
  - intros [I|[->|I]]; [right; apply IHr; left; exact I|left; reflexivity|right; apply IHr; right; exact I].
  - assert (a = b) as <- by lia. intros [[->|I]|[->|I]]; [left; reflexivity|right; apply IH; left; exact I|left; reflexivity|right; apply IH; right; exact I].
Qed.

(* Attributes Y of rows after at most so many additions L to those of P. *)
Definition additions (P : problem) (L : list flip) (Y : Z -> Z -> bool) : Prop :=
  size L <= pos (total P) /\ (forall n, size (of_node n L) <= pos (each P n)) /\ (forall n d, Y n d = true -> attributes P n d = true \/ (In (n, d) L /\ permitted P n d = true)).

Lemma seen_attributes_spec P L Y inputs row : additions P L Y ->
  Z.of_nat (length (filter (fun d => existsb (fun e : Z * Z => Y (fst e) d) row) (ids inputs))) <=
    seen_attributes P (present (attributes P) inputs) (may_get P inputs) inputs row.
Proof.
  intros (T & B & H).
  assert (length (filter (fun d => existsb (fun e : Z * Z => Y (fst e) d) row) (ids inputs)) <= length (ids inputs))%nat as CAP.
  { rewrite <- (filter_all (ids inputs)) at 2. apply filter_mono. reflexivity. }
  assert (length (ids inputs) = Z.to_nat inputs) as LI by (unfold ids; generalize 0; induction (Z.to_nat inputs) as [|k IH]; intros from;
    [reflexivity|]; cbn [counting length]; rewrite IH; reflexivity).
  (* Only attributes that are permitted and absent are added, each once. *)
  set (open := fun f : flip => permitted P (fst f) (snd f) && negb (attributes P (fst f) (snd f)) && existsb (Z.eqb (snd f)) (ids inputs)).
  set (L' := nodup flip_dec (filter open (filter (fun f => existsb (fun e : Z * Z => Z.eqb (fst e) (fst f)) row) L))).
  assert (forall f, In f L' <-> In f L /\ existsb (fun e : Z * Z => Z.eqb (fst e) (fst f)) row = true /\ open f = true) as IN
    by (intros f; unfold L'; rewrite nodup_In, !filter_In; tauto).
  assert (NoDup L') as ND by apply NoDup_nodup.
  pose proof (filter_either (ids inputs) (fun d => existsb (fun e : Z * Z => Y (fst e) d) row)
    (fun d => existsb (fun e : Z * Z => attributes P (fst e) d) row) (fun d => existsb (Z.eqb d) (map snd L'))) as X.
  assert (length (filter (fun d => existsb (Z.eqb d) (map snd L')) (ids inputs)) <= length L')%nat as BL.
  { apply Nat.le_trans with (length (map snd L')); [|rewrite map_length; apply le_n]. apply NoDup_incl_length; [apply NoDup_filter, ids_nodup|].
    intros d I. apply filter_In in I as [_ I]. apply existsb_exists in I as (d' & I & E). apply Z.eqb_eq in E. subst d'. exact I. }
  assert (Z.of_nat (length L') <= pos (total P)) as B1.
  { assert (length L' <= length L)%nat as LL by (apply NoDup_incl_length; [exact ND|]; intros f I; apply IN; exact I). unfold size in *. lia. }
  assert (forall n, size (of_node n L') <= get (may_get P inputs) n) as ONE.
  { intros n. unfold may_get. rewrite get_tabulate. apply Z.min_glb.
    - etransitivity; [|apply B]. unfold size. apply inj_le, NoDup_incl_length; [apply NoDup_filter; exact ND|]. intros f I. apply filter_In in I as [I E].
      apply filter_In. split; [apply IN; exact I|exact E].
    - unfold size. apply inj_le. apply Nat.le_trans with (length (map snd (of_node n L'))); [rewrite map_length; apply le_n|]. apply NoDup_incl_length.
      + assert (forall l : list flip, NoDup l -> (forall f, In f l -> fst f = n) -> NoDup (map snd l)) as MS.
        { induction l as [|f l IHl]; intros NDl EQ; cbn [map]; [constructor|]. inversion NDl; subst. constructor.
          - intros C. apply in_map_iff in C as (g & E & Ig). assert (f = g) as ->; [|contradiction].
            rewrite (surjective_pairing f), (surjective_pairing g), E, (EQ f (or_introl eq_refl)), (EQ g (or_intror Ig)). reflexivity.
          - apply IHl; [assumption|]. intros g Ig. apply EQ. right. exact Ig. }
        apply MS; [apply NoDup_filter; exact ND|]. intros f I. apply filter_In in I as [_ E]. apply Z.eqb_eq. exact E.
      + intros d I. apply in_map_iff in I as (f & <- & I). apply filter_In in I as [I E]. apply Z.eqb_eq in E. apply IN in I as (_ & _ & O).
        unfold open in O. apply andb_prop in O as [O Od]. rewrite E in O. apply existsb_exists in Od as (d' & Id & Ed). apply Z.eqb_eq in Ed. subst d'.
        apply filter_In. auto. }
  assert (Z.of_nat (length L') <= zsum row (fun e => get (may_get P inputs) (fst e))) as B2.
  { rewrite size_sum. transitivity (zsum L' (fun f => zsum row (fun e : Z * Z => if Z.eqb (fst f) (fst e) then 1 else 0))).
    - apply zsum_le_in. intros f I. apply IN in I as (_ & E & _).
      apply existsb_exists in E as (e & Ie & E). pose proof (zsum_mem row (fun e : Z * Z => if Z.eqb (fst f) (fst e) then 1 else 0) e Ie) as M.
      cbn beta in M. rewrite (Z.eqb_sym (fst f) (fst e)), E in M. apply M. intros b _. destruct (Z.eqb (fst f) (fst b)); lia.
    - rewrite zsum_swap. apply zsum_le_in. intros e _. rewrite <- size_of_node. apply ONE. }
  assert (length (filter (fun d => existsb (fun e : Z * Z => Y (fst e) d) row) (ids inputs)) <=
    length (filter (fun d => existsb (fun e : Z * Z => attributes P (fst e) d) row) (ids inputs)) + length (filter (fun d => existsb (Z.eqb d) (map snd L'))
      (ids inputs)))%nat as C.
  { apply X. intros d Id E. apply existsb_exists in E as (e & Ie & E). destruct (attributes P (fst e) d) eqn:EA.
    - left. apply existsb_exists. exists e. auto.
    - destruct (H _ _ E) as [E'|[I PE]]; [congruence|]. right. apply existsb_exists. exists d. rewrite Z.eqb_refl. split; [|reflexivity].
      apply in_map_iff. exists (fst e, d). split; [reflexivity|]. apply IN. split; [exact I|]. split.
      + apply existsb_exists. exists e. cbn [fst]. rewrite Z.eqb_refl. auto.
      + unfold open. cbn [fst snd]. rewrite PE, EA. apply existsb_exists. exists d. rewrite Z.eqb_refl. auto. }
  assert (length (filter (fun d => existsb (fun e : Z * Z => attributes P (fst e) d) row) (ids inputs)) <=
    length (fold_right (fun e rest => union (get (present (attributes P) inputs) (fst e)) rest) [] row))%nat as U.
  { apply NoDup_incl_length; [apply NoDup_filter, ids_nodup|]. intros d I. apply filter_In in I as [I E]. apply existsb_exists in E as (e & Ie & E). clear - I E Ie.
    induction row as [|e' row IH]; [destruct Ie|]. cbn [fold_right]. apply union_in. destruct Ie as [->|Ie]; [left|right; apply IH; exact Ie].
    unfold present. rewrite get_tabulate. apply filter_In. auto. }
  unfold seen_attributes, pos in *. lia.
Qed.

Lemma flips_add P F : admissible P F -> additions P F (flipped (attributes P) F).
Proof.
  intros (_ & PF & T & L). split; [unfold pos; lia|]. split.
  - intros n. unfold pos. destruct (of_node n F) as [|f rest] eqn:E; [unfold size; cbn; lia|].
    assert (In f (of_node n F)) as I by (rewrite E; left; reflexivity). unfold of_node in I. apply filter_In in I as [I E'].
    apply Z.eqb_eq in E'. specialize (L f I). rewrite E', E in L. lia.
  - intros n d E. unfold flipped in E. destruct (existsb (same (n, d)) F) eqn:S; [right|left; exact E].
    apply existsb_exists in S as (f & If & S). apply same_spec in S. subst f. split; [exact If|exact (proj1 (PF _ If))].
Qed.

Lemma regroup {B} (us : list Z) (row : list (Z * B)) (g : B -> Z -> Z) c :
  zsum us (fun i => zsum row (fun p => fst p * g (snd p) i) * c i) = zsum row (fun p => fst p * zsum us (fun i => g (snd p) i * c i)).
Proof.
  rewrite (zsum_ext us _ (fun i => zsum row (fun p => fst p * (g (snd p) i * c i)))).
  - rewrite zsum_swap. apply zsum_ext. intros p. rewrite zsum_scale. reflexivity.
  - intros i. rewrite <- zsum_scale_r. apply zsum_ext. intros p. lia.
Qed.

Lemma zsum_combine_map {B} (us : list Z) (g : Z -> B) f : zsum (combine us (map g us)) f = zsum us (fun i => f (i, g i)).
Proof. induction us as [|u us IH]; [reflexivity|]. cbn [map combine]. rewrite !zsum_cons, IH. reflexivity. Qed.

Open Scope Q_scope.
Notation Int := inject_Z.

(* What reading adds to a number x, times 2^base: its part of x, and what underflow adds. *)
Section Read.
  Variables (A : arithmetic) (base : Z).
  Hypothesis PRECISION : (2 <= precision A)%Z.
  Hypothesis BASE : (0 <= base)%Z.

  Definition part_read : Q := if reads_exactly A then 0 else u A.
  Definition lost_read : Q := if reads_exactly A then 0 else 2 ^ base * eta A.

  Lemma read_nonneg : 0 <= part_read /\ 0 <= lost_read.
  Proof.
    pose proof (u_small A PRECISION) as [U _]. pose proof (eta_small A PRECISION) as [E _]. pose proof (two_power_pos base) as B. unfold part_read, lost_read.
    destruct (reads_exactly A); split; try (apply Qle_refl); [apply Qlt_le_weak; exact U|]. apply Qmult_le_0_compat; apply Qlt_le_weak; assumption.
  Qed.

  Lemma misread_spec magnitude factors : part_read * Int magnitude + lost_read * Int factors <= Int (misread A base magnitude factors).
  Proof.
    unfold part_read, lost_read, misread. destruct (reads_exactly A); [apply Qle_lteq; right; change (Int 0) with 0; ring|].
    apply above_quotient; [apply Z.pow_pos_nonneg; lia|].
    assert (~ Int (2 ^ precision A) == 0) as NZ.
    { intros C. assert (0 < Int (2 ^ precision A)) as PP' by (change 0 with (Int 0); rewrite <- Zlt_Qlt; apply Z.pow_pos_nonneg; lia). rewrite C in PP'. discriminate PP'. }
    rewrite Z.pow_add_r by lia. rewrite inject_Z_plus, !inject_Z_mult, (inject_two_power base BASE). apply Qle_lteq. right. unfold eta, u.
    assert (~ Int (2 ^ 126) == 0) as NZ' by (intros C; vm_compute in C; discriminate C). set (k := Int (2 ^ 126)) in *. clearbody k.
    destruct (flushes A); [|change (Int 1) with 1]; field; auto.
  Qed.

  Definition reading (X H : rows) : Prop := forall n d, if reads_exactly A then H n d == X n d else becomes A 1 (X n d) (H n d).

  Lemma read_near (X H : rows) n d : reading X H -> 2 ^ base * Qabs (X n d) < Int (2 ^ (127 + base)) ->
    (X n d == 0 -> H n d == 0) /\ 2 ^ base * Qabs (H n d - X n d) <= part_read * (2 ^ base * Qabs (X n d)) + lost_read.
  Proof.
    intros R S. specialize (R n d). pose proof (two_power_pos base) as B. unfold part_read, lost_read. destruct (reads_exactly A).
    - split; [intros Z; rewrite R; exact Z|]. setoid_replace (H n d - X n d) with 0 by (rewrite R; ring). change (Qabs 0) with 0. apply Qle_lteq. right. ring.
    - destruct R as [R1 R2].
      + apply (Qmult_lt_l _ _ _ B). rewrite Z.pow_add_r, inject_Z_mult, (inject_two_power base BASE) in S by lia.
        rewrite (Qmult_comm (2 ^ base) (Int (2 ^ 127))). exact S.
      + split; [exact R1|]. change (Int 1) with 1 in R2. fold (u A) in R2. fold (eta A) in R2. set (b := 2 ^ base) in *. clearbody b.
        setoid_replace (u A * (b * Qabs (X n d)) + b * eta A) with (b * (1 * u A * Qabs (X n d) + eta A)) by ring. apply Qmult_le_l; [exact B|exact R2].
  Qed.
End Read.

(* Terms that read the rows. *)
Section First.
  Variables (A : arithmetic) (base : Z) (P : problem) (L : list flip) (first : stage Z) (X H : rows) (large : Z -> Z) (magnitudes : Z -> Z ->
    option (list (Z * Z))) (plain : bool).
  Hypothesis PRECISION : (2 <= precision A)%Z.
  Hypothesis BASE : (0 <= base)%Z.
  Hypothesis ADDITIONS : additions P L (fun n d => negb (is_zero (X n d))).
  Hypothesis READ : reading A X H.
  Hypothesis UNITS : forall t, In t (steps first) -> read_units t = count P.
  Hypothesis NO_BIAS : forall m j, stage_bias first m j = 0%Z.
  Hypothesis NO_PARTS : forall m j, bias_parts first m j = 0%Z.
  Hypothesis PLAIN : plain = true -> forall n i, binary (H n i) = true.
  Hypothesis LARGE : forall m t e i, In t (steps first) -> In e (operator t m) -> In i (ids (read_units t)) -> 2 ^ base * Qabs (X (fst e) i) <= Int (large m).

  (* What weights k make of numbers g, without signs. *)
  Definition mass_of (m : Z) (g : Z -> Z -> Q) (k : reader Z -> Z -> Z) : Q :=
    sum (steps first) (fun t => sum (operator t m) (fun e => Int (Z.abs (snd e)) * sum (ids (read_units t)) (fun i => g (fst e) i * Int (Z.abs (k t i))))).
  Hypothesis MAGNITUDES : forall width m b, magnitudes width m = Some b -> forall j, In j (ids width) ->
    mass_of m (fun n i => 2 ^ base * Qabs (X n i)) (fun t i => weight_size t i j) <= Int (snd (at_unit width b j)).

  Lemma size_abs t i j : Z.abs (weight_size t i j) = weight_size t i j.
  Proof. unfold weight_size, with_its_parts. lia. Qed.

  Lemma mass_sizes m g k k' : (forall n i, 0 <= g n i) -> (forall t i, Z.abs (k t i) <= Z.abs (k' t i))%Z -> mass_of m g k <= mass_of m g k'.
  Proof.
    intros G K. apply sum_le. intros t _. apply sum_le. intros e _. rewrite !(Qmult_comm (Int (Z.abs (snd e)))). apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia].
    apply sum_le. intros i _. rewrite !(Qmult_comm (g _ _)). apply Qmult_le_compat_r; [rewrite <- Zle_Qle; apply K|apply G].
  Qed.

  Lemma mass_le m g g' k : (forall t e i, In t (steps first) -> In e (operator t m) -> In i (ids (read_units t)) -> g (fst e) i <= g' (fst e) i) ->
    mass_of m g k <= mass_of m g' k.
  Proof.
    intros LE. apply sum_le. intros t It. apply sum_le. intros e Ie. rewrite !(Qmult_comm (Int (Z.abs (snd e)))).
    apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia].
    apply sum_le. intros i Ii. apply Qmult_le_compat_r; [exact (LE t e i It Ie Ii)|change 0 with (Int 0); rewrite <- Zle_Qle; lia].
  Qed.

  Lemma mass_linear m g c d k : mass_of m (fun n i => c * g n i + d) k == c * mass_of m g k + d * mass_of m (fun _ _ => 1) k.
  Proof.
    unfold mass_of. rewrite <- !sum_times, <- sum_add. apply sum_eq. intros t _. rewrite <- !sum_times, <- sum_add. apply sum_eq. intros e _.
    transitivity (Int (Z.abs (snd e)) * (c * sum (ids (read_units t)) (fun i => g (fst e) i * Int (Z.abs (k t i))) + d * sum (ids (read_units t))
      (fun i => 1 * Int (Z.abs (k t i))))); [|ring].
    apply Qmult_comp; [reflexivity|]. rewrite <- !sum_times, <- sum_add. apply sum_eq. intros i _. ring.
  Qed.

  Lemma signed_mass m k : Qabs (sum (steps first) (fun t => sum (operator t m) (fun e => Int (snd e) *
      sum (ids (read_units t)) (fun i => 2 ^ base * (H (fst e) i - X (fst e) i) * Int (k t i))))) <= mass_of m (fun n i => 2 ^ base * Qabs (H n i - X n i)) k.
  Proof.
    pose proof (two_power_pos base) as B. eapply Qle_trans; [apply sum_abs|]. apply sum_le. intros t _. eapply Qle_trans; [apply sum_abs|]. apply sum_le.
    intros e _. rewrite Qabs_Qmult, abs_inject.
    rewrite !(Qmult_comm (Int (Z.abs (snd e)))). apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia].
    eapply Qle_trans; [apply sum_abs|]. apply sum_le. intros i _.
    rewrite !Qabs_Qmult, abs_inject, (Qabs_pos (2 ^ base)) by (apply Qlt_le_weak; exact B). apply Qle_refl.
  Qed.

  Lemma receive_first_spec w width m r :
    receive_first A base P (present (attributes P) (count P)) (may_get P (count P)) large magnitudes plain first (heaviest first width w) width m = Some r ->
      receives first base m width (fun _ => H) (fun _ => X) r.
  Proof.
    intros R. unfold receive_first in R. destruct (magnitudes width m) as [b|] eqn:M; [|discriminate].
    destruct (Z.leb (2 ^ base) (large m) && _) eqn:FI; [|discriminate].
    injection R as <-. apply andb_prop in FI as [F1 F2]. apply Z.leb_le in F1. apply Z.ltb_lt in F2. pose proof (MAGNITUDES width m b M) as MG.
    clear M MAGNITUDES.
    pose proof (two_power_pos base) as B. pose proof (read_nonneg A base PRECISION) as [PN LN].
    set (factors := if reads_exactly A then 0%Z else _). set (x := part_read A) in *. set (lost := lost_read A base) in *.
    assert (forall t e i, In t (steps first) -> In e (operator t m) -> In i (ids (read_units t)) ->
      (X (fst e) i == 0 -> H (fst e) i == 0) /\ 2 ^ base * Qabs (H (fst e) i - X (fst e) i) <= x * (2 ^ base * Qabs (X (fst e) i)) + lost) as NEAR.
    { intros t e i It Ie Ii. apply (read_near A base BASE X H (fst e) i READ).
      eapply Qle_lt_trans; [exact (LARGE m t e i It Ie Ii)|rewrite <- Zlt_Qlt; exact F2]. }
    assert (forall j, In j (ids width) -> lost * mass_of m (fun _ _ => 1) (fun t i => weight_size t i j) <= lost * Int factors) as LOST.
    { intros j Ij. unfold lost, lost_read, factors. destruct (reads_exactly A) eqn:RE; [apply Qle_lteq; right; ring|]. fold (lost_read A base).
      rewrite !(Qmult_comm (2 ^ base * eta A)). apply Qmult_le_compat_r; [|unfold lost, lost_read in LN; rewrite RE in LN; exact LN].
      rewrite inject_Z_mult, sum_inject, <- sum_times. apply sum_le. intros t It. rewrite sum_inject, <- sum_times. apply sum_le. intros e _.
      rewrite <- (UNITS t It).
      rewrite (Qmult_comm (Int (Z.abs (snd e)))). apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia].
      rewrite inject_Z_mult, sum_inject, <- sum_times. apply sum_le. intros i Ii. rewrite Qmult_1_l, Qmult_1_r, size_abs, <- Zle_Qle. unfold heaviest.
      etransitivity; [|apply (greatest_in (steps first) (2 ^ w) _ t It)]. etransitivity; [|apply (greatest_in (ids (read_units t)) 0 _ i Ii)].
      apply (greatest_in (ids width) 0 (fun j => weight_size t i j) j Ij). }
    assert (forall j, In j (ids width) -> mass_of m (fun n i => 2 ^ base * Qabs (H n i - X n i)) (fun t i => weight_size t i j) <=
      Int (misread A base (snd (at_unit width b j)) factors)) as WRONG.
    { intros j Ij. eapply Qle_trans; [|apply (misread_spec A base PRECISION BASE)]. fold x lost.
      eapply Qle_trans; [apply (mass_le m _ (fun n i => x * (2 ^ base * Qabs (X n i)) + lost)); intros t e i It Ie Ii; apply (NEAR t e i It Ie Ii)|].
      rewrite mass_linear. specialize (MG j Ij). specialize (LOST j Ij).
      set (mass := mass_of m _ _) in *. set (top := Int (snd (at_unit width b j))) in *. assert (x * mass <= x * top) by (clear - MG PN; nra).
      clear - LOST H0. lra. }
    assert (0 <= Int (large m)) as LM by (change 0 with (Int 0); rewrite <- Zle_Qle; assert (0 < 2 ^ base)%Z by (apply Z.pow_pos_nonneg; lia); lia).
    pose proof (misread_spec A base PRECISION BASE (large m) 1) as ML. fold x lost in ML. change (Int 1) with 1 in ML.
    split; [|split; [|split; [|split]]]; cbn [counts largest added inherited between].
    - exists (steps first). split; [apply Permutation_refl|]. assert (forall ts, (forall t, In t ts -> In t (steps first)) ->
        Forall2 (fun t c => (Z.of_nat (length (filter (seen_by (fun _ => H) m t) (ids (read_units t)))) <= inputs_seen c)%Z /\ row_length c = Z.of_nat (length (operator t m)) /\
          (Z.of_nat (entry_error t m) + Z.of_nat (more_roundings t) + (if receives_bits (fun _ => H) m t then 0 else 1) <= roundings_read c)%Z) ts
        (map (fun t : reader Z => {| inputs_seen := seen_attributes P (present (attributes P) (count P)) (may_get P (count P)) (count P) (operator t m);
          row_length := Z.of_nat (length (operator t m)); roundings_read := Z.of_nat (entry_error t m) + Z.of_nat (more_roundings t) + (if plain then 0 else 1) |}) ts)) as C;
          [|exact (C _ (fun t It => It))].
      induction ts as [|t ts IH]; intros IN; cbn [map]; constructor; [|apply IH; intros t' It; apply IN; right; exact It]. cbn [inputs_seen row_length roundings_read].
      split; [|split; [reflexivity|]].
      2: { destruct plain; [|destruct (receives_bits _ _ _); lia]. assert (receives_bits (fun _ => H) m t = true) as ->; [|lia].
        unfold receives_bits. apply forallb_forall. intros e _. apply forallb_forall. intros i _. apply PLAIN. reflexivity. }
      rewrite (UNITS t (IN t (or_introl eq_refl))). etransitivity; [|apply (seen_attributes_spec P L _ _ _ ADDITIONS)]. apply inj_le. apply filter_mono. intros i Ii E. unfold seen_by in E.
      apply existsb_exists in E as (e & Ie & E). apply existsb_exists. exists e. split; [exact Ie|]. destruct (is_zero (X (fst e) i)) eqn:Z; [|reflexivity].
      apply is_zero_spec in Z. rewrite <- (UNITS t (IN t (or_introl eq_refl))) in Ii. apply (NEAR t e i (IN t (or_introl eq_refl)) Ie Ii) in Z. apply is_zero_spec in Z. rewrite Z in E. discriminate E.
    - rewrite Zle_Qle, inject_Z_plus. rewrite Zle_Qle in F1. assert (0 <= x * Int (large m)) by (apply Qmult_le_0_compat; assumption). clear - ML LN F1 H0. lra.
    - intros t e i It Ie Ii. destruct (NEAR t e i It Ie Ii) as [_ N]. pose proof (LARGE m t e i It Ie Ii) as LA. rewrite inject_Z_plus.
      assert (2 ^ base * Qabs (H (fst e) i) <= 2 ^ base * Qabs (X (fst e) i) + 2 ^ base * Qabs (H (fst e) i - X (fst e) i)) as TR.
      { rewrite <- Qmult_plus_distr_r. apply Qmult_le_l; [exact B|].
        setoid_replace (H (fst e) i) with (X (fst e) i + (H (fst e) i - X (fst e) i)) at 1 by ring. apply Qabs_triangle. }
      set (a := 2 ^ base * Qabs (X (fst e) i)) in *. set (d := 2 ^ base * Qabs (H (fst e) i - X (fst e) i)) in *. clearbody a d.
      assert (x * a <= x * Int (large m)) by (clear - LA PN; nra). clear - TR N LA ML H0. lra.
    - intros j Ij. unfold bias_size. rewrite NO_BIAS, NO_PARTS. change (Int (with_its_parts 0 0)) with 0. rewrite Qplus_0_l, inject_Z_plus. specialize (MG j Ij). specialize (WRONG j Ij).
      rewrite (sum_eq (steps first) _ (fun t => sum (operator t m) (fun e => Int (Z.abs (snd e)) *
        sum (ids (read_units t)) (fun i => 2 ^ base * Qabs (H (fst e) i) * Int (Z.abs (weight_size t i j))))))
        by (intros t _; apply sum_eq; intros e _; apply Qmult_comp; [reflexivity|]; apply sum_eq; intros i _; rewrite size_abs; reflexivity).
      assert (mass_of m (fun n i => 2 ^ base * Qabs (H n i)) (fun t i => weight_size t i j) <=
        mass_of m (fun n i => 2 ^ base * Qabs (X n i)) (fun t i => weight_size t i j) + mass_of m (fun n i => 2 ^ base * Qabs (H n i - X n i))
          (fun t i => weight_size t i j)) as TR.
      { unfold mass_of. rewrite <- sum_add. apply sum_le. intros t _. rewrite <- sum_add. apply sum_le. intros e _. rewrite <- Qmult_plus_distr_r.
        rewrite !(Qmult_comm (Int (Z.abs (snd e)))). apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia]. rewrite <- sum_add.
        apply sum_le. intros i _. rewrite <- Qmult_plus_distr_l.
        apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia]. rewrite <- Qmult_plus_distr_r. apply Qmult_le_l; [exact B|].
        setoid_replace (H (fst e) i) with (X (fst e) i + (H (fst e) i - X (fst e) i)) at 1 by ring. apply Qabs_triangle. }
      unfold mass_of at 1 in TR. clear - MG WRONG TR. lra.
    - assert (forall n i, 0 <= 2 ^ base * Qabs (H n i - X n i)) as G0 by (intros n i; apply Qmult_le_0_compat; [apply Qlt_le_weak; exact B|apply Qabs_nonneg]).
      split; [intros j Ij; eapply Qle_trans; [apply (signed_mass m (fun t i => weight t i j))|]; eapply Qle_trans; [|exact (WRONG j Ij)];
        apply mass_sizes; [exact G0|intros t i; rewrite size_abs; apply its_parts_le]|].
      intros j other Ij Io. eapply Qle_trans; [apply (signed_mass m (fun t i => weight t i j - weight t i other)%Z)|]. rewrite inject_Z_plus.
      eapply Qle_trans; [|apply Qplus_le_compat; [exact (WRONG j Ij)|exact (WRONG other Io)]].
      unfold mass_of. rewrite <- sum_add. apply sum_le. intros t _. rewrite <- sum_add. apply sum_le. intros e _. rewrite <- Qmult_plus_distr_r.
      rewrite !(Qmult_comm (Int (Z.abs (snd e)))). apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia]. rewrite <- sum_add.
      apply sum_le. intros i _. rewrite <- Qmult_plus_distr_r, <- inject_Z_plus.
      rewrite !(Qmult_comm (2 ^ base * _)). apply Qmult_le_compat_r; [rewrite <- Zle_Qle, !size_abs;
        pose proof (its_parts_le (weight t i j) (parts_size t i j)); pose proof (its_parts_le (weight t i other) (parts_size t i other)); unfold weight_size; lia|].
      apply Qmult_le_0_compat; [apply Qlt_le_weak; exact B|apply Qabs_nonneg].
  Qed.
End First.

Section Later.
  Variables (l : stage Z) (s : Z) (h y : nat -> Z -> Z -> Q) (known : nat -> table passing) (m : Z).
  Hypothesis KNOWN : forall t e i, In t (steps l) -> In e (operator t m) ->
    is_known (get (known (read_layer t)) (fst e)) = true -> In i (ids (read_units t)) ->
    2 ^ s * Qabs (h (read_layer t) (fst e) i) <= Int (fst (passed (get (known (read_layer t)) (fst e)) i)) /\
    Qabs (2 ^ s * (h (read_layer t) (fst e) i - y (read_layer t) (fst e) i)) <= Int (snd (passed (get (known (read_layer t)) (fst e)) i)).

  Lemma receive_later_spec width r : receive_later l s known m = Some r -> receives l s m width h y r.
  Proof.
    intros R. unfold receive_later in R. destruct (forallb _ _) eqn:ALL; [|discriminate]. injection R as <-.
    assert (forall t e, In t (steps l) -> In e (operator t m) -> is_known (get (known (read_layer t)) (fst e)) = true) as K.
    { intros t e It Ie. rewrite forallb_forall in ALL. specialize (ALL _ (in_map (fun t : reader Z => (t, map (fun e => (Z.abs (snd e), get (known (read_layer t)) (fst e))) (operator t m))) _ _ It)). cbn [snd] in ALL.
      rewrite forallb_forall in ALL. exact (ALL _ (in_map (fun e => (Z.abs (snd e), get (known (read_layer t)) (fst e))) _ _ Ie)). }
    clear ALL. pose proof (two_power_pos s) as S0.
    match goal with |- context [summed_errors ?l0 _] => set (sums := l0) end.
    assert (forall k : reader Z -> Z -> Z, Qabs (sum (steps l) (fun t => sum (operator t m) (fun e => Int (snd e) *
      sum (ids (read_units t)) (fun i => 2 ^ s * (h (read_layer t) (fst e) i - y (read_layer t) (fst e) i) * Int (k t i))))) <= Int (summed_errors sums k)) as SUMMED.
    { intros k. unfold summed_errors, sums. eapply Qle_trans; [apply sum_abs|]. rewrite map_map. cbn [fst snd]. rewrite zsum_map. cbn [fst snd].
      rewrite sum_inject. apply sum_le. intros t It.
      rewrite zsum_combine_map. cbn [fst snd].
      rewrite (regroup (ids (read_units t)) (map (fun e => (Z.abs (snd e), get (known (read_layer t)) (fst e))) (operator t m)) (fun p i => snd (passed p i)) (fun i => Z.abs (k t i))).
      rewrite zsum_map, sum_inject. eapply Qle_trans; [apply sum_abs|]. apply sum_le. intros e Ie. cbn [fst snd]. rewrite inject_Z_mult, Qabs_Qmult, abs_inject, (Qmult_comm (Int (Z.abs (snd e)))), (Qmult_comm (Int (Z.abs (snd e)))).
      apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia]. rewrite sum_inject. eapply Qle_trans; [apply sum_abs|]. apply sum_le. intros i Ii. rewrite inject_Z_mult, Qabs_Qmult, abs_inject.
      apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia]. exact (proj2 (KNOWN t e i It Ie (K t e It Ie) Ii)). }
    split; [|split; [|split; [|split]]]; cbn [counts largest added inherited between].
    - exists (steps l). split; [apply Permutation_refl|]. rewrite map_map. cbn [fst snd].
      assert (forall ts, (forall t, In t ts -> In t (steps l)) -> Forall2 (fun t c =>
          (Z.of_nat (length (filter (seen_by h m t) (ids (read_units t)))) <= inputs_seen c)%Z /\ row_length c = Z.of_nat (length (operator t m)) /\
          (Z.of_nat (entry_error t m) + Z.of_nat (more_roundings t) + (if receives_bits h m t then 0 else 1) <= roundings_read c)%Z) ts
        (map (fun t : reader Z => {| inputs_seen := Z.of_nat (length (filter (fun i => existsb (fun p => negb (Z.eqb (fst (passed (snd p) i)) 0))
            (map (fun e => (Z.abs (snd e), get (known (read_layer t)) (fst e))) (operator t m))) (ids (read_units t))));
          row_length := Z.of_nat (length (map (fun e => (Z.abs (snd e), get (known (read_layer t)) (fst e))) (operator t m)));
          roundings_read := Z.of_nat (entry_error t m) + Z.of_nat (more_roundings t) + 1 |}) ts)) as C; [|exact (C _ (fun t It => It))].
      induction ts as [|t ts IH]; intros IN; cbn [map]; constructor; [|apply IH; intros t' It; apply IN; right; exact It].
      cbn [inputs_seen row_length roundings_read]. rewrite map_length. split; [|split; [reflexivity|destruct (receives_bits _ _ _); lia]]. apply inj_le, filter_mono. intros i Ii E. unfold seen_by in E. apply existsb_exists in E as (e & Ie & E).
      pose proof (IN t (or_introl eq_refl)) as It.
      apply existsb_exists. exists (Z.abs (snd e), get (known (read_layer t)) (fst e)).
      split; [apply (in_map (fun e => (Z.abs (snd e), get (known (read_layer t)) (fst e)))); exact Ie|]. cbn [snd].
      destruct (Z.eqb_spec (fst (passed (get (known (read_layer t)) (fst e)) i)) 0) as [Z|]; [|reflexivity]. destruct (KNOWN t e i It Ie (K t e It Ie) Ii) as [B _].
      rewrite Z in B. change (Int 0) with 0 in B. assert (is_zero (h (read_layer t) (fst e) i) = true) as C; [|rewrite C in E; discriminate]. apply is_zero_spec.
      pose proof (Qabs_nonneg (h (read_layer t) (fst e) i)) as N.
      assert (Qabs (h (read_layer t) (fst e) i) <= 0) as B' by (clear - B N S0; set (p := 2 ^ s) in *; clearbody p; nra). apply abs_iff in B'. clear - B'. lra.
    - apply greatest_least.
    - intros t e i It Ie Ii. destruct (KNOWN t e i It Ie (K t e It Ie) Ii) as [B _]. eapply Qle_trans; [exact B|]. rewrite <- Zle_Qle.
      etransitivity; [|apply (greatest_in _ _ _ _ (in_map (fun t : reader Z => (t, map (fun e => (Z.abs (snd e), get (known (read_layer t)) (fst e))) (operator t m))) _ _ It))]. cbn [snd].
      etransitivity; [|apply (greatest_in _ _ _ _ (in_map (fun e => (Z.abs (snd e), get (known (read_layer t)) (fst e))) _ _ Ie))]. cbn [snd].
      apply (greatest_in (ids (read_units t)) 0%Z (fun i => fst (passed (get (known (read_layer t)) (fst e)) i)) i Ii).
    - intros j _. rewrite inject_Z_plus. apply Qplus_le_compat; [apply Qle_refl|]. unfold sums. rewrite map_map. cbn [fst snd]. rewrite zsum_map.
      cbn [fst snd]. rewrite sum_inject. apply sum_le. intros t It.
      rewrite zsum_combine_map. cbn [fst snd].
      rewrite (regroup (ids (read_units t)) (map (fun e => (Z.abs (snd e), get (known (read_layer t)) (fst e))) (operator t m)) (fun p i => fst (passed p i)) (fun i => weight_size t i j)).
      rewrite zsum_map, sum_inject. apply sum_le. intros e Ie. cbn [fst snd]. rewrite inject_Z_mult, (Qmult_comm (Int (Z.abs (snd e)))), (Qmult_comm (Int (Z.abs (snd e)))).
      apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia]. rewrite sum_inject. apply sum_le. intros i Ii. rewrite inject_Z_mult.
      apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; unfold weight_size, with_its_parts; lia]. exact (proj1 (KNOWN t e i It Ie (K t e It Ie) Ii)).
    - split; [intros j _; apply (SUMMED (fun t i => weight t i j))|intros j other _ _; apply (SUMMED (fun t i => weight t i j - weight t i other)%Z)].
  Qed.
End Later.

(* Rows of the same values; in smaller units; and both kinds of terms together. *)
Lemma receives_same l s m width h y h' y' r : (forall t, In t (steps l) -> h (read_layer t) = h' (read_layer t) /\ y (read_layer t) = y' (read_layer t)) ->
  receives l s m width h y r -> receives l s m width h' y' r.
Proof.
  intros E (R1 & R2 & R3 & R4 & R5 & R6). split; [|split; [exact R2|split; [|split; [|split]]]].
  - destruct R1 as (ts & PE & F). exists ts. split; [exact PE|]. apply (forall2_in _ _ _ _ F). intros t c It. unfold seen_by, receives_bits.
    destruct (E t (Permutation_in _ PE It)) as [-> _]. auto.
  - intros t e i It Ie Ii. destruct (E t It) as [<- _]. exact (R3 t e i It Ie Ii).
  - intros j Ij. eapply Qle_trans; [|exact (R4 j Ij)]. apply Qplus_le_compat; [apply Qle_refl|]. apply sum_le. intros t It. destruct (E t It) as [-> _]. apply Qle_refl.
  - intros j Ij. eapply Qle_trans; [|exact (R5 j Ij)]. apply Qle_lteq. right. apply Qabs_wd. apply sum_eq. intros t It. destruct (E t It) as [-> ->]. reflexivity.
  - intros j other Ij Io. eapply Qle_trans; [|exact (R6 j other Ij Io)]. apply Qle_lteq. right. apply Qabs_wd. apply sum_eq. intros t It.
    destruct (E t It) as [-> ->]. reflexivity.
Qed.

Lemma sum_scaled {B} (l : list B) c f g : (forall b, In b l -> f b == c * g b) -> sum l f == c * sum l g.
Proof. intros H. rewrite <- sum_times. apply sum_eq. exact H. Qed.

Lemma lifted_receives l s k m width h y r : (0 <= k)%Z -> (forall m j, bias_size l m j = 0%Z) -> receives l s m width h y r ->
  (0 <= s)%Z -> receives l (s + k) m width h y (lifted (2 ^ k) r).
Proof.
  intros K0 NB (R1 & R2 & R3 & R4 & R5 & R6) S0. pose proof (two_power_pos k) as PK.
  assert (Int (2 ^ k) == 2 ^ k) as IK by (rewrite inject_two_power by exact K0; reflexivity).
  assert (2 ^ (s + k) == 2 ^ k * 2 ^ s) as TK by (rewrite two_power; ring).
  assert (forall x y, x <= Int y -> 2 ^ k * x <= Int (2 ^ k * y)) as UP by (intros x' y' L; rewrite inject_Z_mult, IK; apply Qmult_le_l; assumption).
  assert (forall x, 2 ^ k * Qabs x == Qabs (2 ^ k * x)) as AK by (intros x; rewrite Qabs_Qmult, (Qabs_pos (2 ^ k)) by (apply Qlt_le_weak; exact PK); reflexivity).
  split; [exact R1|]. split; [|split; [|split; [|split]]]; cbn [lifted largest added inherited between].
  - rewrite Z.pow_add_r, Z.mul_comm by lia. apply Z.mul_le_mono_nonneg_l; [apply Z.pow_nonneg; lia|exact R2].
  - intros t e i It Ie Ii. rewrite TK, <- Qmult_assoc. apply UP. exact (R3 t e i It Ie Ii).
  - intros j Ij. specialize (R4 j Ij). rewrite NB in *. change (Int 0) with 0 in *. rewrite Qplus_0_l in *. eapply Qle_trans; [|exact (UP _ _ R4)].
    apply Qle_lteq. right. apply sum_scaled. intros t _. apply sum_scaled. intros e _. 
    rewrite Qmult_assoc, (Qmult_comm (2 ^ k)), <- Qmult_assoc. apply Qmult_comp; [reflexivity|]. apply sum_scaled. intros i _. rewrite TK. ring.
  - intros j Ij. eapply Qle_trans; [|exact (UP _ _ (R5 j Ij))]. apply Qle_lteq. right. rewrite AK. apply Qabs_wd. apply sum_scaled. intros t _. apply sum_scaled. intros e _.
    rewrite Qmult_assoc, (Qmult_comm (2 ^ k)), <- Qmult_assoc. apply Qmult_comp; [reflexivity|]. apply sum_scaled. intros i _. rewrite TK. ring.
  - intros j other Ij Io. eapply Qle_trans; [|exact (UP _ _ (R6 j other Ij Io))]. apply Qle_lteq. right. rewrite AK. apply Qabs_wd. apply sum_scaled. intros t _.
    apply sum_scaled. intros e _.
    rewrite Qmult_assoc, (Qmult_comm (2 ^ k)), <- Qmult_assoc. apply Qmult_comp; [reflexivity|]. apply sum_scaled. intros i _. rewrite TK. ring.
Qed.

Lemma sum_parts {B} (l : list B) p f : sum l f == sum (filter p l) f + sum (filter (fun b => negb (p b)) l) f.
Proof. induction l as [|b l IH]; [reflexivity|]. cbn [filter]. rewrite sum_cons, IH. destruct (p b); cbn [negb]; rewrite sum_cons; ring. Qed.

Lemma parts_perm {B} (l : list B) p : Permutation (filter p l ++ filter (fun b => negb (p b)) l) l.
Proof.
  induction l as [|b l IH]; [constructor|]. cbn [filter]. destruct (p b); cbn [negb app]; [constructor; exact IH|].
  eapply Permutation_trans; [apply Permutation_sym, Permutation_middle|]. constructor. exact IH.
Qed.

Lemma together_receives l s m width h y r r' : receives (rows_part l) s m width h y r -> receives (later_part l) s m width h y r' ->
  receives l s m width h y (together r r').
Proof.
  intros (R1 & R2 & R3 & R4 & R5 & R6) (L1 & L2 & L3 & L4 & L5 & L6). cbn [rows_part later_part steps stage_bias] in *.
  split; [|split; [|split; [|split; [|split]]]]; cbn [together counts largest added inherited between].
  - destruct R1 as (ts & PE & F). destruct L1 as (ts' & PE' & F'). exists (ts ++ ts'). split; [|apply Forall2_app; assumption].
    eapply Permutation_trans; [apply Permutation_app; eassumption|apply parts_perm].
  - lia.
  - intros t e i It Ie Ii. destruct (of_rows t) eqn:E.
    + eapply Qle_trans; [apply (R3 t e i); auto; apply filter_In; auto|rewrite <- Zle_Qle; lia].
    + eapply Qle_trans; [apply (L3 t e i); auto; apply filter_In; rewrite E; auto|rewrite <- Zle_Qle; lia].
  - intros j Ij. specialize (R4 j Ij). specialize (L4 j Ij). change (Int (bias_size (rows_part l) m j)) with 0 in R4. change (bias_size (later_part l) m j) with (bias_size l m j) in L4. rewrite inject_Z_plus, (sum_parts _ of_rows). clear - R4 L4. lra.
  - intros j Ij. rewrite inject_Z_plus, (sum_parts _ of_rows). eapply Qle_trans; [apply Qabs_triangle|]. apply Qplus_le_compat; auto.
  - intros j other Ij Io. rewrite inject_Z_plus, (sum_parts _ of_rows). eapply Qle_trans; [apply Qabs_triangle|]. apply Qplus_le_compat; auto.
Qed.

Lemma later_alone l s m width h y r : steps (rows_part l) = [] -> receives (later_part l) s m width h y r -> receives l s m width h y r.
Proof.
  intros E. assert (steps (later_part l) = steps l) as SL.
  { cbn [rows_part later_part steps] in *. induction (steps l) as [|t ts IH]; [reflexivity|]. cbn [filter] in *. destruct (of_rows t); [discriminate|].
    cbn [negb]. rewrite (IH E). reflexivity. }
  unfold receives, bias_size. rewrite SL. cbn [later_part stage_bias bias_parts]. auto.
Qed.
