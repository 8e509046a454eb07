(* What a node receives is what `received` says: of attributes after flips, and of units whose sizes and errors are known. *)
From Coq Require Import ZArith QArith Qabs Qpower List Bool Lia Lqa Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Leaf Sound Floats Roundings RoundedRow Deployed ComputedRow.
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
  size L <= pos (total P) /\ (forall n, size (of_node n L) <= pos (each P n)) /\ (forall n d, Y n d = true -> attributes P n d = true \/ In (n, d) L).

Lemma seen_attributes_spec P L Y inputs row : additions P L Y ->
  Z.of_nat (length (filter (fun d => existsb (fun e : Z * Z => Y (fst e) d) row) (ids inputs))) <= seen_attributes P (present (attributes P) inputs) row.
Proof.
  intros (T & B & H). set (L' := filter (fun f => existsb (fun e : Z * Z => Z.eqb (fst e) (fst f)) row) L).
  pose proof (filter_either (ids inputs) (fun d => existsb (fun e : Z * Z => Y (fst e) d) row)
    (fun d => existsb (fun e : Z * Z => attributes P (fst e) d) row) (fun d => existsb (Z.eqb d) (map snd L'))) as X.
  assert (length (filter (fun d => existsb (Z.eqb d) (map snd L')) (ids inputs)) <= length L')%nat as BL.
  { rewrite <- (map_length snd L'). apply NoDup_incl_length; [apply NoDup_filter, ids_nodup|]. intros d I. apply filter_In in I as [_ I].
    apply existsb_exists in I as (d' & I & E). apply Z.eqb_eq in E. subst d'. exact I. }
  assert (Z.of_nat (length L') <= pos (total P)) as B1.
  { assert (length L' <= length L)%nat as LL by (unfold L'; clear; induction L as [|f L IH]; cbn [filter length]; [lia|]; destruct (existsb _ row); cbn [length]; lia). unfold size in *. lia. }
  assert (Z.of_nat (length L') <= zsum row (fun e => pos (each P (fst e)))) as B2.
  { rewrite size_sum. unfold L'. rewrite zsum_filter.
    transitivity (zsum L (fun f => zsum row (fun e : Z * Z => if Z.eqb (fst f) (fst e) then 1 else 0))).
    - apply zsum_le_in. intros f _. destruct (existsb _ row) eqn:E.
      + apply existsb_exists in E as (e & Ie & E). pose proof (zsum_mem row (fun e : Z * Z => if Z.eqb (fst f) (fst e) then 1 else 0) e Ie) as M.
        cbn beta in M. rewrite (Z.eqb_sym (fst f) (fst e)), E in M. apply M. intros b _. destruct (Z.eqb (fst f) (fst b)); lia.
      + apply zsum_nonneg. intros e _. destruct (Z.eqb (fst f) (fst e)); lia.
    - rewrite zsum_swap. apply zsum_le_in. intros e _. rewrite <- size_of_node. apply B. }
  assert (length (filter (fun d => existsb (fun e : Z * Z => Y (fst e) d) row) (ids inputs)) <=
    length (filter (fun d => existsb (fun e : Z * Z => attributes P (fst e) d) row) (ids inputs)) + length (filter (fun d => existsb (Z.eqb d) (map snd L')) (ids inputs)))%nat as C.
  { apply X. intros d _ E. apply existsb_exists in E as (e & Ie & E). destruct (H _ _ E) as [E'|I].
    - left. apply existsb_exists. exists e. auto.
    - right. apply existsb_exists. exists d. rewrite Z.eqb_refl. split; [|reflexivity].
      apply in_map_iff. exists (fst e, d). split; [reflexivity|]. apply filter_In. split; [exact I|]. apply existsb_exists. exists e. cbn [fst]. rewrite Z.eqb_refl. auto. }
  assert (length (filter (fun d => existsb (fun e : Z * Z => attributes P (fst e) d) row) (ids inputs)) <=
    length (fold_right (fun e rest => union (get (present (attributes P) inputs) (fst e)) rest) [] row))%nat as U.
  { apply NoDup_incl_length; [apply NoDup_filter, ids_nodup|]. intros d I. apply filter_In in I as [I E]. apply existsb_exists in E as (e & Ie & E). clear - I E Ie.
    induction row as [|e' row IH]; [destruct Ie|]. cbn [fold_right]. apply union_in. destruct Ie as [->|Ie]; [left|right; apply IH; exact Ie].
    unfold present. rewrite get_tabulate. apply filter_In. auto. }
  unfold seen_attributes. lia.
Qed.

Lemma flips_add P F : admissible P F -> additions P F (flipped (attributes P) F).
Proof.
  intros (_ & _ & T & L). split; [unfold pos; lia|]. split.
  - intros n. unfold pos. destruct (of_node n F) as [|f rest] eqn:E; [unfold size; cbn; lia|].
    assert (In f (of_node n F)) as I by (rewrite E; left; reflexivity). unfold of_node in I. apply filter_In in I as [I E'].
    apply Z.eqb_eq in E'. specialize (L f I). rewrite E', E in L. lia.
  - intros n d E. unfold flipped in E. destruct (existsb (same (n, d)) F) eqn:S; [right|left; exact E].
    apply existsb_exists in S as (f & If & S). apply same_spec in S. subst f. exact If.
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

(* The first layer. It reads numbers from 0 to 1, times 2^base. *)
Section First.
  Variables (base : Z) (P : problem) (L : list flip) (first : layer Z) (V : zrows) (h y : Z -> Z -> Q) (magnitudes : Z -> Z -> option (list (Z * Z))).
  Hypothesis ADDITIONS : additions P L (fun n d => negb (Z.eqb (V n d) 0)).
  Hypothesis UNIT : forall n d, (0 <= V n d <= 2 ^ base)%Z.
  Hypothesis EXACT : forall n d, Int (V n d) == 2 ^ base * y n d.
  Hypothesis READ : forall n d, h n d == y n d.
  Hypothesis MAGNITUDES : forall width m b, magnitudes width m = Some b -> holds width (zvalue [absolute first] V m) b.

  Lemma receive_first_spec width m r :
    receive_first base P (present (attributes P) (inputs first)) magnitudes first width m = Some r -> receives first base m width h y r.
  Proof.
    intros R. unfold receive_first in R. destruct (magnitudes width m) as [b|] eqn:M; [|discriminate]. injection R as <-. apply MAGNITUDES in M.
    pose proof (two_power_pos base) as S0.
    assert (forall n i, 2 ^ base * Qabs (h n i) == Int (V n i)) as HA.
    { intros n i. transitivity (Qabs (2 ^ base * h n i)); [rewrite Qabs_Qmult, (Qabs_pos (2 ^ base)) by lra; reflexivity|]. rewrite READ, <- EXACT. apply Qabs_pos. change 0 with (Int 0). rewrite <- Zle_Qle. apply UNIT. }
    split; [|split; [|split; [|split]]]; cbn [counts largest added inherited].
    - induction (terms first) as [|t ts IH]; cbn [map]; constructor; auto. cbn [fst snd]. split; [|reflexivity].
      etransitivity; [|apply (seen_attributes_spec P L _ _ _ ADDITIONS)]. apply inj_le. apply filter_mono. intros i _ E. unfold seen_by in E.
      apply existsb_exists in E as (e & Ie & E). apply existsb_exists. exists e. split; [exact Ie|]. destruct (Z.eqb_spec (V (fst e) i) 0) as [Z|]; [|reflexivity].
      assert (is_zero (h (fst e) i) = true) as Z'; [|rewrite Z' in E; discriminate]. apply is_zero_spec. rewrite READ. specialize (EXACT (fst e) i). rewrite Z in EXACT. change (Int 0) with 0 in EXACT.
      clear - EXACT S0. set (x := y (fst e) i) in *. clearbody x. set (k := 2 ^ base) in *. clearbody k. apply (Qmult_inj_l _ _ k); [lra|]. rewrite <- EXACT. ring.
    - reflexivity.
    - intros t e i _ _ _. rewrite HA, <- Zle_Qle. apply UNIT.
    - intros j Ij. destruct (at_unit_spec _ _ _ j M Ij) as [_ B]. eapply Qle_trans; [|rewrite <- Zle_Qle; exact B]. cbn [zvalue absolute terms inputs bias].
      rewrite inject_Z_plus. apply Qplus_le_compat; [apply Qle_refl|]. apply Qle_lteq. right. rewrite zsum_map, sum_inject. apply sum_eq. intros t _. cbn [operator weight].
      rewrite zsum_map, sum_inject. apply sum_eq. intros e _. cbn [fst snd]. rewrite inject_Z_mult. apply Qmult_comp; [reflexivity|]. rewrite sum_inject. apply sum_eq. intros i _.
      rewrite inject_Z_mult, HA. reflexivity.
    - intros k. rewrite (sum_eq _ _ (fun _ => 0)); [rewrite sum_zero; change (Qabs 0) with (Int 0); rewrite <- Zle_Qle; reflexivity|]. intros t _. rewrite (sum_eq _ _ (fun _ => 0)); [apply sum_zero|]. intros e _.
      rewrite (sum_eq _ _ (fun _ => 0)); [rewrite sum_zero; ring|]. intros i _. rewrite READ. ring.
  Qed.
End First.

Section Later.
  Variables (l : layer Z) (s : Z) (h y : Z -> Z -> Q) (known : table passing).
  Hypothesis KNOWN : forall n i, is_known (get known n) = true -> In i (ids (inputs l)) ->
    2 ^ s * Qabs (h n i) <= Int (fst (passed (get known n) i)) /\ Qabs (2 ^ s * (h n i - y n i)) <= Int (snd (passed (get known n) i)).

  Lemma receive_later_spec width m r : receive_later l s known m = Some r -> receives l s m width h y r.
  Proof.
    intros R. unfold receive_later in R. destruct (forallb _ _) eqn:ALL; [|discriminate]. injection R as <-.
    assert (forall t e, In t (terms l) -> In e (operator t m) -> is_known (get known (fst e)) = true) as K.
    { intros t e It Ie. rewrite forallb_forall in ALL. specialize (ALL _ (in_map (fun t => (t, map (fun e => (Z.abs (snd e), get known (fst e))) (operator t m))) _ _ It)). cbn [snd] in ALL.
      rewrite forallb_forall in ALL. exact (ALL _ (in_map (fun e => (Z.abs (snd e), get known (fst e))) _ _ Ie)). }
    clear ALL. pose proof (two_power_pos s) as S0.
    split; [|split; [|split; [|split]]]; cbn [counts largest added inherited].
    - clear - K KNOWN S0. rewrite map_map. cbn [fst snd]. induction (terms l) as [|t ts IH]; cbn [map]; constructor.
      + cbn [fst snd]. rewrite map_length. split; [|reflexivity]. apply inj_le, filter_mono. intros i Ii E. unfold seen_by in E. apply existsb_exists in E as (e & Ie & E).
        apply existsb_exists. exists (Z.abs (snd e), get known (fst e)). split; [apply (in_map (fun e => (Z.abs (snd e), get known (fst e)))); exact Ie|]. cbn [snd].
        destruct (Z.eqb_spec (fst (passed (get known (fst e)) i)) 0) as [Z|]; [|reflexivity]. destruct (KNOWN (fst e) i (K t e (or_introl eq_refl) Ie) Ii) as [B _].
        rewrite Z in B. change (Int 0) with 0 in B. assert (is_zero (h (fst e) i) = true) as C; [|rewrite C in E; discriminate]. apply is_zero_spec.
        pose proof (Qabs_nonneg (h (fst e) i)) as N. assert (Qabs (h (fst e) i) <= 0) as B' by (clear - B N S0; set (p := 2 ^ s) in *; clearbody p; nra). apply abs_iff in B'. clear - B'. lra.
      + apply IH. intros t' e It Ie. apply (K t' e); [right; exact It|exact Ie].
    - apply greatest_least.
    - intros t e i It Ie Ii. destruct (KNOWN (fst e) i (K t e It Ie) Ii) as [B _]. eapply Qle_trans; [exact B|]. rewrite <- Zle_Qle.
      etransitivity; [|apply (greatest_in _ _ _ _ (in_map (fun t => (t, map (fun e => (Z.abs (snd e), get known (fst e))) (operator t m))) _ _ It))]. cbn [snd].
      etransitivity; [|apply (greatest_in _ _ _ _ (in_map (fun e => (Z.abs (snd e), get known (fst e))) _ _ Ie))]. cbn [snd].
      apply (greatest_in (ids (inputs l)) 0%Z (fun i => fst (passed (get known (fst e)) i)) i Ii).
    - intros j _. rewrite inject_Z_plus. apply Qplus_le_compat; [apply Qle_refl|]. rewrite map_map. cbn [fst snd]. rewrite zsum_map. cbn [fst snd]. rewrite sum_inject. apply sum_le. intros t It.
      rewrite zsum_combine_map. cbn [fst snd].
      rewrite (regroup (ids (inputs l)) (map (fun e => (Z.abs (snd e), get known (fst e))) (operator t m)) (fun p i => fst (passed p i)) (fun i => Z.abs (weight t i j))).
      rewrite zsum_map, sum_inject. apply sum_le. intros e Ie. cbn [fst snd]. rewrite inject_Z_mult, (Qmult_comm (Int (Z.abs (snd e)))), (Qmult_comm (Int (Z.abs (snd e)))).
      apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia]. rewrite sum_inject. apply sum_le. intros i Ii. rewrite inject_Z_mult.
      apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia]. exact (proj1 (KNOWN (fst e) i (K t e It Ie) Ii)).
    - intros k. eapply Qle_trans; [apply sum_abs|]. rewrite map_map. cbn [fst snd]. rewrite zsum_map. cbn [fst snd]. rewrite sum_inject. apply sum_le. intros t It.
      rewrite zsum_combine_map. cbn [fst snd].
      rewrite (regroup (ids (inputs l)) (map (fun e => (Z.abs (snd e), get known (fst e))) (operator t m)) (fun p i => snd (passed p i)) (fun i => Z.abs (k t i))).
      rewrite zsum_map, sum_inject. eapply Qle_trans; [apply sum_abs|]. apply sum_le. intros e Ie. cbn [fst snd]. rewrite inject_Z_mult, Qabs_Qmult, abs_inject, (Qmult_comm (Int (Z.abs (snd e)))), (Qmult_comm (Int (Z.abs (snd e)))).
      apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia]. rewrite sum_inject. eapply Qle_trans; [apply sum_abs|]. apply sum_le. intros i Ii. rewrite inject_Z_mult, Qabs_Qmult, abs_inject.
      apply Qmult_le_compat_r; [|change 0 with (Int 0); rewrite <- Zle_Qle; lia]. exact (proj2 (KNOWN (fst e) i (K t e It Ie) Ii)).
  Qed.
End Later.
