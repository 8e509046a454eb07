(* What is accepted of the network as it runs is true of every execution. *)
From Coq Require Import ZArith QArith Qabs Qpower List Bool Lia Lqa.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Leaf Sound Floats Menus Divided DividedSound Roundings RoundedRow Deployed ComputedRow DeployedRows DeployedSound.
Import ListNotations.
Open Scope Z_scope.

(* The integers of a network of floats, as for `integers_of`, where the program says which powers of two it has taken. *)
Fixpoint integers_at (base : Z) (s : shifts) (bits z : network Z) : Prop :=
  match s, bits, z with
  | [], [], [] => True
  | (a, w) :: rest, b :: bs, l :: ls =>
      integers_at base rest bs ls /\ Forall2 (integer_term a w) (terms b) (terms l) /\ inputs b = inputs l /\ (forall j, relu b j = relu l j) /\
      (forall m j, to_integer (shift_of base rest + a + w) (bias b m j) = Some (bias l m j))
  | _, _, _ => False
  end.

Lemma integers_at_of base s : forall bits z, integers_at base s bits z -> integers_of base (shift_of base s) bits z.
Proof.
  induction s as [|[a w] rest IH]; intros [|b bs] [|l ls] H; try destruct H; [constructor|]. destruct H0 as (T & I & R & B). cbn [shift_of]. constructor; auto.
Qed.

Lemma integers_at_scaled base s : forall bits z, integers_at base s bits z -> scaled_at base s (rational bits) z.
Proof.
  induction s as [|[a w] rest IH]; intros [|b bs] [|l ls] H; try destruct H; [constructor|]. destruct H0 as (T & I & R & B). cbn [scaled_at rational map].
  split; [apply IH; exact H|]. split; [|split; [exact I|split; [exact R|]]].
  - cbn [rational_layer terms]. clear - T. induction T as [|t t' ts ts' [To Tw] T IHT]; cbn [map]; constructor; auto. split.
    + intros m. cbn [rational_term operator]. specialize (To m). induction To as [|e f es fs [E1 E2] To IHe]; cbn [map]; constructor; auto.
      split; [exact E1|]. cbn [snd]. apply to_integer_spec. assumption.
    + intros i j. cbn [rational_term weight]. apply to_integer_spec. apply Tw.
  - intros m j. cbn [rational_layer bias]. apply to_integer_spec. apply B.
Qed.

Lemma only_admissible P F : admissible (only P F) [].
Proof. split; [constructor|]. split; [intros f []|]. split; [cbn; lia|intros f []]. Qed.

(* For any way to prepare checkers, and to read rows of 0 and 1. *)
Section Judged.
  Variables (prepare : network Z -> Z -> option prepared) (reading : (Z -> Z -> bool) -> zrows) (read : (Z -> Z -> bool) -> rows).
  Variables (A : arithmetic) (base : Z) (s : shifts) (bits z : network Z) (P : problem) (classes : Z) (d : deployed).
  Hypothesis SOUND : forall net top p, prepare net top = Some p -> sound net top P no_rivals reading p.
  Hypothesis MISSING : forall X n d, X n d = false -> reading X n d = 0.
  Hypothesis UNIT : forall X n d, 0 <= reading X n d <= 2 ^ base.
  Hypothesis READ : forall X n d, (Int (reading X n d) == 2 ^ base * read X n d)%Q.
  Hypothesis INTEGERS : integers_at base s bits z.
  Hypothesis PREPARED : deployed_by prepare A base z s classes P = Some d.

  Lemma prepared_parts : exists first width q, arithmetic_of d = A /\ prepare z classes = Some (exactly d) /\ ends z first /\
    prepare [absolute first] width = Some q /\ 2 <= precision A /\ 1 <= entry_error A /\ 0 <= base /\ not_below_0 s = true /\
    errors d = all_sums A base P (root (exactly d)) (root q) z s classes /\
    errors_on d = (fun P' => all_sums A base P' (view_of (exactly d) P') (view_of q P') z s classes).
  Proof.
    unfold deployed_by in PREPARED. destruct (_ && _ && _ && _) eqn:C; [|discriminate]. apply andb_prop in C as [C C3]. apply andb_prop in C as [C C4]. apply andb_prop in C as [C1 C2].
    apply Z.leb_le in C1, C2, C4. destruct (bottom z classes) as [[first width]|] eqn:B; [|discriminate]. destruct (prepare z classes) as [p|] eqn:HP; [|discriminate].
    destruct (prepare [absolute first] width) as [q|] eqn:HQ; [|discriminate]. injection PREPARED as <-. exists first, width, q. cbn [arithmetic_of exactly errors errors_on].
    pose proof (bottom_ends _ _ _ _ B). auto 11.
  Qed.

  (* A margin of integers that exceeds the error is one of every execution. *)
  Lemma margin_holds P' F V x t y other first width q : count P' = count P -> admissible P' F -> ends z first ->
    sound z classes P no_rivals reading (exactly d) -> sound [absolute first] width P no_rivals reading q ->
    2 <= precision A -> 1 <= entry_error A -> 0 <= base -> not_below_0 s = true ->
    get (all_sums A base P' (view_of (exactly d) P') (view_of q P') z s classes) t = Some x ->
    execution A (rational bits) (read (flipped (attributes P') F)) V -> 0 <= y < classes -> 0 <= other < classes ->
    pair_error A x y other < zvalue z (reading (flipped (attributes P') F)) t y - zvalue z (reading (flipped (attributes P') F)) t other -> (V t other < V t y)%Q.
  Proof.
    intros CP AD EN SO SQ PR ER BA NN G EX Hy Ho M.
    pose proof (sums_near A base P' P F z classes first width (exactly d) q reading read PR ER BA SO SQ MISSING UNIT READ CP AD EN z s (rational bits) classes V (fun _ e => e)
      (integers_at_scaled base s bits z INTEGERS) NN EX) as N.
    destruct z as [|l below]; [destruct EN|]. destruct (N t x G) as [_ N2]. specialize (N2 y other (proj2 (ids_in classes y) Hy) (proj2 (ids_in classes other) Ho)). cbv zeta beta in N2.
    rewrite Zlt_Qlt in M. unfold Z.sub in M. rewrite inject_Z_plus, inject_Z_opp in M. pose proof (two_power_pos (shift_of base s)) as S0. set (S := (2 ^ shift_of base s)%Q) in *. clearbody S.
    apply abs_iff in N2 as [N2 _]. set (v := Int (zvalue _ _ t y)) in *. set (w := Int (zvalue _ _ t other)) in *.
    set (e := Int (pair_error A x y other)) in *. clearbody v w e. apply (Qmult_lt_l _ _ S S0). clear - M N2. lra.
  Qed.

  Theorem judged (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
    all_lines (exactly d) no_bounds lines = Some whole ->
    let made X := exists F, admissible P F /\ X = read (flipped (attributes P) F) in
    match judge_deployed d P whole by_prediction t y c with
    | Some IsRobust => robust_run A (rational bits) made classes t y
    | Some IsBroken => broken_run A (rational bits) made classes t y /\ (by_prediction = true -> predicted (rational bits) (read (attributes P)) classes t y)
    | Some IsTied => False
    | None => True
    end.
  Proof.
    intros HL made. destruct prepared_parts as (first & width & q & HA & HP & EN & HQ & PR & ER & BA & NN & E1 & E2). pose proof (SOUND _ _ _ HP) as SO. pose proof (SOUND _ _ _ HQ) as SQ.
    pose proof (all_lines_sound z P classes no_rivals reading (exactly d) SO lines no_bounds whole (no_bounds_sound z reading P) HL) as WS.
    assert (errors d = all_sums A base P (view_of (exactly d) P) (view_of q P) z s classes) as E3 by (rewrite E1, (same_root _ _ _ _ _ _ SO), (same_root _ _ _ _ _ _ SQ); reflexivity).
    destruct c as [scale trees|other F]; cbn [judge_deployed].
    - destruct (get (errors d) t) as [x|] eqn:G; [|exact I]. destruct (_ && _) eqn:C; [|exact I]. apply andb_prop in C as [C HT]. apply andb_prop in C as [C Hy2].
      apply andb_prop in C as [Hs Hy1]. rewrite (same_classes _ _ _ _ _ _ SO) in *. apply Z.ltb_lt in Hs, Hy2. apply Z.leb_le in Hy1. rewrite forallb_forall in HT.
      intros X V (F & AD & ->) EX other Ho D. specialize (HT other (proj2 (ids_in classes other) Ho)). destruct (Z.eqb_spec other y) as [E|_]; [contradiction|]. cbn [orb] in HT.
      destruct (List.find _ trees) as [e|]; [|discriminate]. rewrite HA, (same_root _ _ _ _ _ _ SO) in HT.
      pose proof (tree_above_sound z classes P no_rivals reading (exactly d) SO _ (snd e) P [] no_signs F whole _ eq_refl AD (apart_none F) (fun _ (e : False) => match e with end) (no_signs_obeyed z _) (WS F AD) HT) as T.
      rewrite (margin_value z classes P no_rivals reading (exactly d) SO) in T by (first [apply ids_in; lia|assumption]).
      rewrite E3 in G. apply (margin_holds P F V x t y other first width q eq_refl AD EN SO SQ PR ER BA NN G EX); [lia|exact Ho|]. nia.
    - destruct (_ && _) eqn:C; [|exact I]. apply andb_prop in C as [C HP']. apply andb_prop in C as [HF HD]. apply is_admissible_spec in HF. apply negb_true_iff, Z.eqb_neq in HD.
      destruct (logit_of _ y) as [a|] eqn:Ea; [|exact I]. destruct (logit_of _ other) as [b|] eqn:Eb; [|exact I].
      destruct (exceeds d (get (errors d) t) other y (b - a) || _) eqn:X; [|exact I].
      apply (logit_of_spec z classes P no_rivals reading (exactly d) SO) in Ea as [Hy ->]. apply (logit_of_spec z classes P no_rivals reading (exactly d) SO) in Eb as [Ho ->].
      split.
      + exists (read (flipped (attributes P) F)), other. split; [exists F; auto|]. split; [exact Ho|]. split; [exact HD|]. intros V EX. unfold exceeds in X. rewrite HA in X.
        apply orb_prop in X as [X|X].
        * destruct (get (errors d) t) as [x|] eqn:G; [|discriminate]. apply Z.ltb_lt in X. rewrite E3 in G.
          exact (margin_holds P F V x t other y first width q eq_refl HF EN SO SQ PR ER BA NN G EX Ho Hy X).
        * rewrite E2 in X. cbv beta in X. destruct (get (all_sums A base (only P F) _ _ z s classes) t) as [x|] eqn:G; [|discriminate]. apply Z.ltb_lt in X.
          exact (margin_holds (only P F) [] V x t other y first width q eq_refl (only_admissible P F) EN SO SQ PR ER BA NN G EX Ho Hy X).
      + intros ->. cbn [negb orb] in HP'. destruct (integers_scaled base _ bits z (integers_at_of base s bits z INTEGERS)) as (k & _ & SC).
        apply (is_predicted_spec z P classes no_rivals reading (exactly d) SO) in HP' as [Hy' H]. split; [exact Hy'|]. intros o Ho' D.
        destruct (H o Ho' D) as [L|[E L]]; [left|right; split; [|exact L]].
        * apply (scaled_less (2 ^ base) k (rational bits) z _ _ (two_power_pos base) (READ (attributes P)) t o y SC). exact L.
        * apply (scaled_equal (2 ^ base) k (rational bits) z _ _ (two_power_pos base) (READ (attributes P)) t o y SC). exact E.
  Qed.
End Judged.

(* The last word about the network as it runs, on rows as they are. *)
Theorem verified_deployed (A : arithmetic) (s : shifts) (bits z : network Z) (P : problem) (classes : Z) (d : deployed)
    (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
  integers_at 0 s bits z ->
  prepare_deployed A z s classes P = Some d ->
  all_lines (exactly d) no_bounds lines = Some whole ->
  match judge_deployed d P whole by_prediction t y c with
  | Some IsRobust => robust_run A (rational bits) (by_flips P) classes t y
  | Some IsBroken => broken_run A (rational bits) (by_flips P) classes t y /\ (by_prediction = true -> predicted (rational bits) (numbers (attributes P)) classes t y)
  | Some IsTied => False
  | None => True
  end.
Proof.
  intros INT HP HL. refine (judged _ entries numbers A 0 s bits z P classes d (fun net top p => prepared_sound net top P no_rivals p) _ _ _ INT HP lines whole by_prediction t y c HL).
  - intros X n i E. unfold entries. rewrite E. reflexivity.
  - intros X n i. unfold entries. destruct (X n i); cbn; lia.
  - intros X n i. unfold entries, numbers. destruct (X n i); reflexivity.
Qed.

(* And on rows that are divided by their sums: `share` are the floats by which. *)
Theorem verified_deployed_rows (A : arithmetic) (base : Z) (s : shifts) (bits z : network Z) (P : problem) (share sigma : Z -> Z) (classes : Z) (d : deployed)
    (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
  integers_at base s bits z ->
  (forall count, to_integer base (share count) = Some (sigma count)) ->
  prepare_deployed_rows A base z s classes P sigma = Some d ->
  all_lines (exactly d) no_bounds lines = Some whole ->
  let shares count := float_value (share count) in
  match judge_deployed d P whole by_prediction t y c with
  | Some IsRobust => robust_run A (rational bits) (by_flips_divided P shares) classes t y
  | Some IsBroken => broken_run A (rational bits) (by_flips_divided P shares) classes t y /\
      (by_prediction = true -> predicted (rational bits) (divided_by shares (count P) (attributes P)) classes t y)
  | Some IsTied => False
  | None => True
  end.
Proof.
  intros INT SH HP HL shares. unfold prepare_deployed_rows in HP. destruct (Z.leb 0 (count P) && forallb _ _) eqn:SMALL; [|discriminate].
  apply andb_prop in SMALL as [C0 SMALL]. apply Z.leb_le in C0. rewrite forallb_forall in SMALL.
  refine (judged _ (divided sigma (count P)) (divided_by shares (count P)) A base s bits z P classes d (fun net top p => prepared_rows_sound net top P sigma p) _ _ _ INT HP lines whole by_prediction t y c HL).
  - intros X n i E. unfold divided. rewrite E. reflexivity.
  - intros X n i. unfold divided. set (k := Z.of_nat (length (filter (X n) (ids (count P))))).
    assert (0 <= sigma k <= 2 ^ base); [|destruct (X n i); cbn [bit]; lia].
    assert (In k (ids (count P + 1))) as I.
    { apply ids_in. unfold k. pose proof (filter_mono (ids (count P)) (X n) (fun _ => true) (fun _ _ _ => eq_refl)) as L. rewrite filter_all in L.
      assert (Z.of_nat (length (ids (count P))) = count P) as LC; [|lia]. unfold ids. clear - C0. rewrite <- (Z2Nat.id (count P)) at 2 by lia. f_equal.
      generalize 0 at 1. induction (Z.to_nat (count P)) as [|r IH]; intros from; [reflexivity|]. cbn [counting length]. rewrite IH. reflexivity. }
    specialize (SMALL k I). apply andb_prop in SMALL as [S1 S2]. apply Z.leb_le in S1, S2. lia.
  - intros X n i. unfold divided, divided_by. destruct (X n i); cbn [bit]; [|cbn; ring]. rewrite Z.mul_1_l. apply to_integer_spec, SH.
Qed.

Definition both_verified := (verified_deployed, verified_deployed_rows).
Print Assumptions both_verified.
