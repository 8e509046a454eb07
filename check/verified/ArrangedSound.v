(* A chain that `arranged` accepts has the values of the network that runs. *)
From Coq Require Import ZArith QArith Qabs Qpower List Bool Lia Lqa Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Floats Roundings RoundedRow Arranged Deployed ComputedRow.
Import ListNotations.
Open Scope Q_scope.

(* The integer network is the rational one, each layer's operators and weights times these powers of two; and a layer that runs, where it stands. *)
Fixpoint scaled_at (base : Z) (s : shifts) (q : network Q) (z : network Z) : Prop :=
  match s, q, z with
  | [], [], [] => True
  | (a, w) :: rest, ql :: qs, zl :: zs =>
      scaled_at base rest qs zs /\ Forall2 (scaled_term (2 ^ a) (2 ^ w)) (terms ql) (terms zl) /\ inputs ql = inputs zl /\ (forall j, relu ql j = relu zl j) /\
      (forall m j, Int (bias zl m j) == 2 ^ (shift_of base rest + a + w) * bias ql m j)
  | _, _, _ => False
  end.
Definition scaled_stage (base : Z) (s : shifts) (q : stage Q) (l : stage Z) : Prop :=
  match s with
  | (a, w) :: rest =>
      Forall2 (scaled_step (2 ^ a) (2 ^ w)) (steps q) (steps l) /\ (forall j, rectifies q j = rectifies l j) /\
      (forall m j, Int (stage_bias l m j) == 2 ^ (shift_of base rest + a + w) * stage_bias q m j) /\
      same_readings (2 ^ (shift_of base rest + a + w)) q l
  | [] => False
  end.

Lemma same_row_spec r : forall r', same_row r r' = true -> r = r'.
Proof.
  induction r as [|[n x] r IH]; intros [|[n' x'] r'] H; try discriminate; [reflexivity|]. cbn [same_row fst snd] in H. apply andb_prop in H as [H H3].
  apply andb_prop in H as [H1 H2]. apply Z.eqb_eq in H1, H2. subst. rewrite (IH r' H3). reflexivity.
Qed.

Lemma numbered_sum {B} (l : list B) f : forall from, sum (numbered from l) (fun e => f (snd e)) == sum l f.
Proof. induction l as [|b l IH]; intros from; [reflexivity|]. cbn [numbered]. rewrite !sum_cons, IH. reflexivity. Qed.

Lemma numbered_none {B} (l : list B) f k : forall from, (k < from)%nat -> sum (numbered from l) (fun e => if Nat.eqb k (fst e) then f (snd e) else 0) == 0.
Proof.
  induction l as [|b l IH]; intros from L; [reflexivity|]. cbn [numbered]. rewrite sum_cons, IH by lia. cbn [fst snd].
  destruct (Nat.eqb_spec k from); [lia|ring].
Qed.

Lemma numbered_pick {B} (l : list B) f k : forall from, (from <= k)%nat ->
  sum (numbered from l) (fun e => if Nat.eqb k (fst e) then f (snd e) else 0) == match nth_error l (k - from) with Some b => f b | None => 0 end.
Proof.
  induction l as [|b l IH]; intros from L; [destruct (k - from)%nat; reflexivity|]. cbn [numbered]. rewrite sum_cons. cbn [fst snd]. destruct (Nat.eqb_spec k from) as [->|N].
  - rewrite numbered_none, Nat.sub_diag by lia. cbn [nth_error]. ring.
  - rewrite IH by lia. replace (k - from)%nat with (S (k - S from)) by lia. cbn [nth_error]. ring.
Qed.

Lemma numbered_in {B} (l : list B) k b : forall from, In (k, b) (numbered from l) <-> (from <= k)%nat /\ nth_error l (k - from) = Some b.
Proof.
  induction l as [|c l IH]; intros from; [split; [intros []|intros [_ H]; destruct (k - from)%nat; discriminate]|]. cbn [numbered In]. rewrite IH. split.
  - intros [[= <- <-]|[L H]]; [rewrite Nat.sub_diag; auto|]. split; [lia|]. replace (k - from)%nat with (S (k - S from)) by lia. exact H.
  - intros [L H]. destruct (Nat.eq_dec k from) as [->|N]; [rewrite Nat.sub_diag in H; injection H as ->; left; reflexivity|right].
    split; [lia|]. replace (k - from)%nat with (S (k - S from)) in H by lia. exact H.
Qed.

Lemma counting_app a : forall b from, counting from (a + b) = counting from a ++ counting (from + Z.of_nat a) b.
Proof.
  induction a as [|a IH]; intros b from; [cbn [counting app Nat.add]; f_equal; lia|]. cbn [counting app Nat.add]. rewrite IH. do 3 f_equal. lia.
Qed.

Lemma counting_shift f n : forall from, counting (f + from) n = map (fun i => f + i)%Z (counting from n).
Proof. induction n as [|n IH]; intros from; [reflexivity|]. cbn [counting map]. rewrite <- IH. do 2 f_equal. lia. Qed.

Lemma counting_in n : forall from i, In i (counting from n) -> (from <= i < from + Z.of_nat n)%Z.
Proof. induction n as [|n IH]; intros from i I; [destruct I|]. destruct I as [<-|I]; [lia|apply IH in I; lia]. Qed.

(* Numbers outside a window are left out. *)
Lemma sum_window (F : Z -> Q) f n size : (0 <= f)%Z -> (0 <= n)%Z -> (f + n <= size)%Z ->
  sum (ids size) (fun v => if Z.leb f v && Z.ltb v (f + n) then F v else 0) == sum (ids n) (fun i => F (f + i)%Z).
Proof.
  intros F0 N0 L. unfold ids at 1. replace (Z.to_nat size) with (Z.to_nat f + (Z.to_nat n + Z.to_nat (size - f - n)))%nat by lia. rewrite !counting_app, !sum_app.
  assert (forall from k p, (forall i, (from <= i < from + Z.of_nat k)%Z -> p i = false) -> sum (counting from k) (fun v => if p v : bool then F v else 0) == 0) as NONE.
  { intros from k p H. rewrite <- (sum_zero (counting from k)). apply sum_eq. intros i I. rewrite (H i (counting_in _ _ _ I)). reflexivity. }
  rewrite (NONE 0%Z), (NONE (0 + Z.of_nat (Z.to_nat f) + Z.of_nat (Z.to_nat n))%Z), Qplus_0_l, Qplus_0_r.
  - rewrite !Z2Nat.id by lia. rewrite Z.add_0_l. replace f with (f + 0)%Z at 1 by lia. rewrite counting_shift, sum_map. apply sum_eq. intros i I.
    apply counting_in in I. rewrite Z2Nat.id in I by lia. destruct (Z.leb_spec f (f + i)); [|lia]. destruct (Z.ltb_spec (f + i) (f + n)); [reflexivity|lia].
  - intros i H. destruct (Z.leb_spec f i); [|reflexivity]. destruct (Z.ltb_spec i (f + n)); [lia|reflexivity].
  - intros i H. destruct (Z.leb_spec f i); [lia|reflexivity].
Qed.

Lemma sum_if {B} (l : list B) (c : bool) f : sum l (fun b => if c then f b else 0) == if c then sum l f else 0.
Proof. destruct c; [reflexivity|apply sum_zero]. Qed.

(* One unit of a block: the sum over what its windows take. *)
Section Windows.
  Variables (nodes : Z) (ql : layer Q) (l : layer Z) (a w : Z) (b : block) (list : list window) (g : Z -> Z -> Q) (m j : Z).
  Hypothesis TERMS : Forall2 (scaled_term (2 ^ a) (2 ^ w)) (terms ql) (terms l).
  Hypothesis INPUTS : inputs ql = inputs l.
  Hypothesis FITS : forallb (window_fits nodes l) list = true.
  Hypothesis WEIGHTS : weights_fit l b list = true.
  Hypothesis NODE : In m (ids nodes).
  Hypothesis UNIT : In j (ids (block_width b)).

  Definition taken_by (x : window) : Q :=
    sum (by_rows x m) (fun e => Int (snd e) * / 2 ^ a * sum (ids (breadth x)) (fun i => g (fst e) (offset x + i)%Z * (Int (factors x i j) * / 2 ^ w))).

  Lemma windows_sum : sum (terms ql) (fun t => sum (operator t m) (fun e => snd e * sum (ids (inputs ql)) (fun v => g (fst e) v * weight t v (block_first b + j)%Z))) ==
    sum list taken_by.
  Proof.
    pose proof (two_power_pos a) as PA. pose proof (two_power_pos w) as PW.
    set (col := fun t : term Z => sum (operator t m) (fun e => Int (snd e) * / 2 ^ a *
      sum (ids (inputs l)) (fun v => g (fst e) v * (Int (weight t v (block_first b + j)%Z) * / 2 ^ w)))).
    transitivity (sum (numbered 0 (terms l)) (fun e => col (snd e))).
    { rewrite (numbered_sum (terms l) col 0). unfold col. clear col. apply (sum_forall2_eq _ _ _ _ _ TERMS). intros tq t _ _ [TO TW]. apply (sum_forall2_eq _ _ _ _ _ (TO m)). intros e e' _ _ [E2 E3].
      rewrite E2, INPUTS. apply Qmult_comp; [rewrite E3; field; intros C; rewrite C in PA; discriminate PA|]. apply sum_eq. intros v _. rewrite TW.
      field. intros C; rewrite C in PW; discriminate PW. }
    transitivity (sum (numbered 0 (terms l)) (fun t => sum list (fun x => if Nat.eqb (taken x) (fst t) then sum (operator (snd t) m) (fun e => Int (snd e) * / 2 ^ a *
      sum (ids (inputs l)) (fun v => if Z.leb (offset x) v && Z.ltb v (offset x + breadth x) then g (fst e) v * (Int (factors x (v - offset x) j) * / 2 ^ w) else 0)) else 0))).
    { apply sum_eq. intros t It. unfold col. clear col.
      transitivity (sum list (fun x => sum (operator (snd t) m) (fun e => Int (snd e) * / 2 ^ a * sum (ids (inputs l)) (fun v =>
        if in_window x (fst t) v then g (fst e) v * (Int (factors x (v - offset x) j) * / 2 ^ w) else 0)))).
      - rewrite sum_swap. apply sum_eq. intros e _. rewrite sum_times. apply Qmult_comp; [reflexivity|]. rewrite sum_swap. apply sum_eq. intros v Iv.
        unfold weights_fit in WEIGHTS. rewrite forallb_forall in WEIGHTS. specialize (WEIGHTS t It). rewrite forallb_forall in WEIGHTS. specialize (WEIGHTS v Iv).
        rewrite forallb_forall in WEIGHTS. specialize (WEIGHTS j UNIT). apply Z.eqb_eq in WEIGHTS. rewrite WEIGHTS, sum_inject.
        rewrite (Qmult_comm _ (/ 2 ^ w)), Qmult_assoc, (Qmult_comm _ (/ 2 ^ w)), <- sum_times. apply sum_eq. intros x _.
        destruct (in_window x (fst t) v); [ring|change (Int 0) with 0; ring].
      - apply sum_eq. intros x _. rewrite <- sum_if. unfold in_window. destruct (Nat.eqb (taken x) (fst t)); cbn [andb]; [reflexivity|].
        apply sum_eq. intros e _. rewrite sum_zero. ring. }
    clear col. rewrite sum_swap. apply sum_eq. intros x Ix. rewrite forallb_forall in FITS. specialize (FITS x Ix). unfold window_fits in FITS.
    apply andb_prop in FITS as [F F4]. apply andb_prop in F as [F F3]. apply andb_prop in F as [F1 F2]. apply Z.leb_le in F1, F2, F3.
    rewrite (numbered_pick (terms l) (fun t => sum (operator t m) (fun e => Int (snd e) * / 2 ^ a *
      sum (ids (inputs l)) (fun v => if Z.leb (offset x) v && Z.ltb v (offset x + breadth x) then g (fst e) v * (Int (factors x (v - offset x) j) * / 2 ^ w) else 0)))
      (taken x) 0 (Nat.le_0_l _)), Nat.sub_0_r.
    destruct (nth_error (terms l) (taken x)) as [t|]; [|discriminate]. rewrite forallb_forall in F4. specialize (F4 m NODE). apply same_row_spec in F4.
    unfold taken_by. rewrite <- F4. apply sum_eq. intros e _. apply Qmult_comp; [reflexivity|].
    rewrite (sum_window (fun v => g (fst e) v * (Int (factors x (v - offset x) j) * / 2 ^ w)) _ _ _ F1 F2 F3). apply sum_eq. intros i _.
    replace (offset x + i - offset x)%Z with i by lia. reflexivity.
  Qed.

  (* Of operators that pass on what a node has, with weights 1. *)
  Lemma passes_on x : by_rows x = alone_at (2 ^ a) -> (0 <= a)%Z -> taken_by x == sum (ids (breadth x)) (fun i => g m (offset x + i)%Z * (Int (factors x i j) * / 2 ^ w)).
  Proof.
    intros E A0. unfold taken_by. rewrite E. unfold alone_at. rewrite sum_cons. cbn [sum fold_right fst snd]. rewrite inject_two_power by exact A0.
    pose proof (two_power_pos a) as PA. rewrite Qmult_inv_r by (intros C; rewrite C in PA; discriminate PA). ring.
  Qed.

  Lemma unity_sum (h : Z -> Q) size : (0 <= w)%Z -> In j (ids size) -> sum (ids size) (fun i => h i * (Int (unity (2 ^ w) i j) * / 2 ^ w)) == h j.
  Proof.
    intros W0 I. transitivity (sum (ids size) (fun v => if Z.leb j v && Z.ltb v (j + 1) then h v else 0)).
    - apply sum_eq. intros v _. unfold unity. pose proof (two_power_pos w) as PW. destruct (Z.eqb_spec v j) as [->|N].
      + destruct (Z.leb_spec j j); [|lia]. destruct (Z.ltb_spec j (j + 1)); [|lia]. cbn [andb]. rewrite inject_two_power by exact W0. field. intros C; rewrite C in PW; discriminate PW.
      + change (Int 0) with 0. destruct (Z.leb_spec j v); [destruct (Z.ltb_spec v (j + 1)); [lia|]|]; cbn [andb]; ring.
    - apply ids_in in I. rewrite sum_window by lia. change (ids 1) with [0%Z]. rewrite sum_cons. cbn [sum fold_right]. rewrite Z.add_0_r. ring.
  Qed.
End Windows.

Lemma skipn_cons {B} d : forall (l : list B) b r, skipn d l = b :: r -> skipn (S d) l = r /\ nth_error l d = Some b.
Proof.
  induction d as [|d IH]; intros [|c l] b r H; try discriminate; [injection H as -> ->; split; reflexivity|]. cbn [skipn nth_error] in *. exact (IH l b r H).
Qed.

Lemma nth_skipn {B} d : forall (l : list B) b, nth_error l d = Some b -> skipn d l = b :: skipn (S d) l.
Proof. induction d as [|d IH]; intros [|c l] b H; try discriminate; [injection H as ->; reflexivity|]. cbn [skipn nth_error] in *. exact (IH l b H). Qed.

Lemma scaled_at_skipn base d : forall s q z, scaled_at base s q z -> scaled_at base (skipn d s) (skipn d q) (skipn d z).
Proof.
  induction d as [|d IH]; intros s q z H; [exact H|]. destruct s as [|[a w] s]; destruct q as [|ql q]; destruct z as [|l z]; try destruct H; [exact I|].
  cbn [skipn]. apply IH. assumption.
Qed.

Lemma same_content_spec c d : same_content c d = true -> c = d.
Proof.
  destruct c as [k|k i]; destruct d as [k'|k' i']; intros H; try discriminate; cbn [same_content] in H; [apply Nat.eqb_eq in H; congruence|].
  apply andb_prop in H as [H1 H2]. apply Nat.eqb_eq in H1, H2. congruence.
Qed.

Lemma stands_spec held c from size : stands held c from size = true -> exists b, In b held /\ content_of b = c /\ block_first b = from /\ block_width b = size.
Proof.
  intros H. apply existsb_exists in H as (b & I & H). apply andb_prop in H as [H H3]. apply andb_prop in H as [H1 H2]. apply Z.eqb_eq in H2, H3.
  apply same_content_spec in H1. eauto.
Qed.

Section Whole.
  Variables (nodes count : Z) (net : list (stage Z)) (qnet : list (stage Q)) (places : list place) (base : Z) (s : shifts) (z : network Z) (qn : network Q).
  Variables (blocks : list (list block)) (X : rows).
  Hypothesis SCALED : scaled_at base s qn z.
  Hypothesis SHIFTS : forallb (fun e => Z.leb 0 (fst e) && Z.leb 0 (snd e)) s = true.
  Hypothesis ARRANGED : arranged nodes count net places s 0 z s blocks = true.
  Hypothesis STAGES : forall k l p, nth_error net k = Some l -> nth_error places k = Some p ->
    exists ql, nth_error qnet k = Some ql /\ scaled_stage base (skipn (layers_above p) s) ql l.

  (* The exact values of layers that run: of each what the chain has in its place, before and after relus. *)
  Definition exact_before (k : nat) : rows := fun m j =>
    match nth_error places k with Some p => preactivation (skipn (layers_above p) qn) X m (first_unit p + j)%Z | None => 0 end.
  Definition exact_at (k : nat) : rows :=
    match k with
    | O => X
    | S k => fun m j =>
        match nth_error places k with Some p => passed_on (skipn (layers_above p) qn) (first_unit p + j)%Z (exact_before k m j) | None => 0 end
    end.
  Definition value (c : content) : rows :=
    match c with
    | Computed k => exact_at k
    | Product k i => fun n j =>
        match nth_error qnet k with
        | Some l => match nth_error (steps l) i with Some t => sum (ids (read_units t)) (fun d => X n d * weight t d j) | None => 0 end
        | None => 0
        end
    end.
  Definition passed_by (d : nat) (n u : Z) : Q := passed_on (skipn d qn) u (preactivation (skipn d qn) X n u).
  Definition holds_at (d : nat) (held : list block) : Prop := forall b n i, In b held -> In n (ids nodes) -> In i (ids (block_width b)) ->
    passed_by d n (block_first b + i)%Z == value (content_of b) n i.

  (* One layer of the chain, below d of them. *)
  Section Layer.
    Variables (d : nat) (ql : layer Q) (qs : network Q) (l : layer Z) (a w : Z) (rest : shifts) (bs others : list block).
    Hypothesis QN : skipn d qn = ql :: qs.
    Hypothesis S_AT : skipn d s = (a, w) :: rest.
    Hypothesis TERMS : Forall2 (scaled_term (2 ^ a) (2 ^ w)) (terms ql) (terms l).
    Hypothesis INPUTS : inputs ql = inputs l.
    Hypothesis RELU : forall j, relu ql j = relu l j.
    Hypothesis BIAS : forall m j, Int (bias l m j) == 2 ^ (shift_of base rest + a + w) * bias ql m j.
    Hypothesis BELOW : holds_at (S d) others.
    Hypothesis ENTRIES : forallb (fun t => forallb (fun m => forallb (fun e => Z.leb 0 (fst e) && Z.ltb (fst e) nodes) (operator t m)) (ids nodes)) (terms l) = true.

    Lemma below_is : skipn (S d) qn = qs.
    Proof. exact (proj1 (skipn_cons _ _ _ _ QN)). Qed.

    Lemma not_negative e : In e s -> (0 <= fst e /\ 0 <= snd e)%Z.
    Proof. intros I. rewrite forallb_forall in SHIFTS. specialize (SHIFTS e I). apply andb_prop in SHIFTS as [H1 H2]. apply Z.leb_le in H1, H2. auto. Qed.

    Lemma shifts_here : (0 <= a /\ 0 <= w)%Z.
    Proof. apply (not_negative (a, w)). apply (nth_error_In s d). exact (proj2 (skipn_cons _ _ _ _ S_AT)). Qed.

    Lemma block_value b list bias' relu' m j : windows net places s others a w b = Some (list, (bias', relu')) ->
      forallb (window_fits nodes l) list = true -> weights_fit l b list = true ->
      forallb (fun j => Bool.eqb (relu l (block_first b + j)) (relu' j) &&
          forallb (fun m => Z.eqb (bias l m (block_first b + j)) (bias' m j)) (ids nodes)) (ids (block_width b)) = true ->
      In m (ids nodes) -> In j (ids (block_width b)) ->
      relu ql (block_first b + j)%Z = relu' j /\ 2 ^ (shift_of base rest + a + w) * bias ql m (block_first b + j)%Z == Int (bias' m j) /\
      preactivation (ql :: qs) X m (block_first b + j)%Z == bias ql m (block_first b + j)%Z + sum list (taken_by a w (passed_by (S d)) m j).
    Proof.
      intros _ F W R Im Ij. rewrite forallb_forall in R. specialize (R j Ij). apply andb_prop in R as [R B]. apply eqb_prop in R. rewrite forallb_forall in B.
      specialize (B m Im). apply Z.eqb_eq in B. split; [rewrite RELU; exact R|]. split; [rewrite <- BIAS, B; reflexivity|].
      cbn [preactivation]. apply Qplus_comp; [reflexivity|].
      rewrite <- (windows_sum nodes ql l a w b list (passed_by (S d)) m j TERMS INPUTS F W Im Ij). unfold passed_by. rewrite below_is. reflexivity.
    Qed.

    Lemma entries_here x m e : window_fits nodes l x = true -> In m (ids nodes) -> In e (by_rows x m) -> In (fst e) (ids nodes).
    Proof.
      intros F Im Ie. unfold window_fits in F. apply andb_prop in F as [_ F]. destruct (nth_error (terms l) (taken x)) as [t|] eqn:N; [|discriminate].
      rewrite forallb_forall in F. specialize (F m Im). apply same_row_spec in F. rewrite <- F in Ie. rewrite forallb_forall in ENTRIES.
      specialize (ENTRIES t (nth_error_In _ _ N)). rewrite forallb_forall in ENTRIES. specialize (ENTRIES m Im). rewrite forallb_forall in ENTRIES.
      specialize (ENTRIES e Ie). apply andb_prop in ENTRIES as [E1 E2]. apply Z.leb_le in E1. apply Z.ltb_lt in E2. apply ids_in. lia.
    Qed.

    Lemma stands_value c from size n i : stands others c from size = true -> In n (ids nodes) -> In i (ids size) -> passed_by (S d) n (from + i)%Z == value c n i.
    Proof. intros S In' Ii. apply stands_spec in S as (b & Ib & <- & <- & <-). apply BELOW; assumption. Qed.

    Lemma no_bias m j : 2 ^ (shift_of base rest + a + w) * bias ql m j == Int 0 -> bias ql m j == 0.
    Proof.
      intros H. pose proof (two_power_pos (shift_of base rest + a + w)) as P. apply (Qmult_inj_l _ _ (2 ^ (shift_of base rest + a + w)));
        [intros C; rewrite C in P; discriminate P|]. rewrite H. change (Int 0) with 0. ring.
    Qed.

    (* What a block content_of that is not computed here. *)
    Lemma other_block b : block_fits nodes net places s d l a w others b = true -> (forall k, is_made b = true -> content_of b <> Computed (S k)) ->
      forall n i, In n (ids nodes) -> In i (ids (block_width b)) -> passed_by d n (block_first b + i)%Z == value (content_of b) n i.
    Proof.
      intros BF OTHER n i In' Ii. pose proof shifts_here as [A0 W0]. unfold block_fits in BF.
      destruct (windows net places s others a w b) as [[list [bias' relu']]|] eqn:WI; [|discriminate].
      apply andb_prop in BF as [BF _]. apply andb_prop in BF as [BF B]. apply andb_prop in BF as [F W].
      destruct (block_value b list bias' relu' n i WI F W B In' Ii) as (R & BI & PRE). unfold passed_by. rewrite QN. cbn [passed_on]. rewrite R.
      assert ((exists x, list = [x] /\ by_rows x = alone_at (2 ^ a) /\ bias' = (fun _ _ => 0%Z) /\ relu' = (fun _ => false) /\
        sum (ids (breadth x)) (fun i' => passed_by (S d) n (offset x + i')%Z * (Int (factors x i' i) * / 2 ^ w)) == value (content_of b) n i)) as (x & -> & RO & -> & -> & V).
      { unfold windows in WI. destruct (is_made b) eqn:MB.
        - destruct (content_of b) as [[|k]|k i0] eqn:HB; [discriminate|contradiction (OTHER k eq_refl eq_refl)|].
          destruct (nth_error net k) as [lk|] eqn:NK; [|discriminate]. destruct (nth_error places k) as [pk|] eqn:PK; [|discriminate].
          destruct (nth_error (steps lk) i0) as [t|] eqn:NT; [|discriminate]. destruct (nth_error s (layers_above pk)) as [[a' v]|] eqn:NS; [|discriminate].
          destruct (takes b) as [|[column from] [|]]; try discriminate. destruct (_ && _) eqn:C; [|discriminate]. injection WI as <- <- <-.
          apply andb_prop in C as [C C3]. apply andb_prop in C as [C1 C2]. apply Nat.eqb_eq in C1. eexists. split; [reflexivity|]. cbn [by_rows breadth offset factors].
          repeat (split; [reflexivity|]). cbn [value]. destruct (STAGES k lk pk NK PK) as (qk & NQ & SS). rewrite NQ. unfold scaled_stage in SS.
          rewrite (nth_skipn _ _ _ NS) in SS. destruct SS as (SS & _). 
          assert (exists tq, nth_error (steps qk) i0 = Some tq /\ scaled_step (2 ^ a') (2 ^ v) tq t) as (tq & NTQ & [[_ TW] (TL & TU & _)]).
          { clear - SS NT. revert i0 NT. induction SS as [|tq t' tqs ts T SS IH]; intros [|i0] NT; try discriminate; [injection NT as ->; exists tq; auto|exact (IH i0 NT)]. }
          rewrite NTQ, TU. apply sum_eq. intros i' Ii'. rewrite (stands_value _ _ _ n i' C2 In' Ii'). cbn [value exact_at]. apply Qmult_comp; [reflexivity|].
          rewrite forallb_forall in C3. specialize (C3 i' Ii'). rewrite forallb_forall in C3. specialize (C3 i Ii). apply Z.eqb_eq in C3.
          destruct (not_negative (a', v) (nth_error_In _ _ NS)) as [_ V0]. cbn [snd] in V0.
          assert (Int (weight t i' i * 2 ^ w / 2 ^ v) * 2 ^ v == 2 ^ v * weight tq i' i * 2 ^ w) as EQ.
          { rewrite <- TW, <- (inject_two_power v V0), <- (inject_two_power w W0), <- !inject_Z_mult, C3. reflexivity. }
          pose proof (two_power_pos w) as PW. pose proof (two_power_pos v) as PV. set (x := Int (weight t i' i * 2 ^ w / 2 ^ v)) in *. clearbody x.
          apply (Qmult_inj_r _ _ (2 ^ v)); [intros Z0; rewrite Z0 in PV; discriminate PV|].
          setoid_replace (x * / 2 ^ w * 2 ^ v) with (x * 2 ^ v * / 2 ^ w) by ring. rewrite EQ. field. intros Z0; rewrite Z0 in PW; discriminate PW.
        - destruct (takes b) as [|[column from] [|]]; try discriminate. destruct (stands _ _ _ _) eqn:C; [|discriminate]. injection WI as <- <- <-.
          eexists. split; [reflexivity|]. cbn [by_rows breadth offset factors]. repeat (split; [reflexivity|]).
          rewrite (unity_sum w i (fun i' => passed_by (S d) n (from + i')%Z) (block_width b) W0 Ii). apply (stands_value _ _ _ _ _ C In' Ii). }
      rewrite PRE, (no_bias _ _ BI), sum_cons. cbn [sum fold_right]. rewrite (passes_on a w _ n i x RO A0), V. ring.
    Qed.

    (* A layer that runs, computed here. *)
    Lemma made_block b k : block_fits nodes net places s d l a w others b = true -> is_made b = true -> content_of b = Computed (S k) ->
      exists p lk qk, nth_error places k = Some p /\ layers_above p = d /\ first_unit p = block_first b /\ wide p = block_width b /\ nth_error net k = Some lk /\
        nth_error qnet k = Some qk /\
        (forall n j, In n (ids nodes) -> In j (ids (block_width b)) ->
          exact_before k n j == stage_bias qk n j + sum (steps qk) (exact exact_at n j) /\
          exact_at (S k) n j == rectified (rectifies qk j) (exact_before k n j)) /\
        (forall n j t e, In n (ids nodes) -> In j (ids (block_width b)) -> In t (steps qk) -> In e (operator t n) -> In (fst e) (ids nodes)).
    Proof.
      intros BF MB HB. unfold block_fits in BF. destruct (windows net places s others a w b) as [[list [bias' relu']]|] eqn:WI; [|discriminate].
      rewrite MB, HB in BF. apply andb_prop in BF as [BF PL]. apply andb_prop in BF as [BF B]. apply andb_prop in BF as [F W].
      destruct (nth_error places k) as [p|] eqn:PK; [|discriminate]. apply andb_prop in PL as [PL P3]. apply andb_prop in PL as [P1 P2].
      apply Nat.eqb_eq in P1. apply Z.eqb_eq in P2, P3. pose proof WI as WI'. unfold windows in WI. rewrite MB, HB in WI.
      destruct (nth_error net k) as [lk|] eqn:NK; [|discriminate]. destruct (Nat.eqb_spec (length (steps lk)) (length (takes b))) as [L|]; [|discriminate].
      destruct (each_some _ _) as [list'|] eqn:ES; [|discriminate]. injection WI as -> <- <-.
      destruct (STAGES k lk p NK PK) as (qk & NQ & SS). rewrite P1, S_AT in SS. destruct SS as (SS & SR & SB & _).
      exists p, lk, qk. repeat (split; [first [reflexivity|assumption]|]).
      assert (forall n j, In n (ids nodes) -> In j (ids (block_width b)) -> sum list (taken_by a w (passed_by (S d)) n j) == sum (steps qk) (exact exact_at n j) /\
        (forall t e, In t (steps qk) -> In e (operator t n) -> In (fst e) (ids nodes))) as ALL.
      { intros n j In' Ij. pose proof shifts_here as [_ W0].
        assert (forall i tq, nth_error (steps qk) i = Some tq -> nth_error (steps qk) (0 + i) = Some tq) as SUB by auto.
        clear - BELOW NQ In' Ij W0 ENTRIES QN SUB ES F L SS. set (whole := steps qk) in SUB at 2.
        assert (nth_error qnet k = Some qk /\ whole = steps qk) as [NQ' WH] by auto. clearbody whole.
        revert SUB ES F L. generalize (takes b). revert list. generalize 0%nat. revert SS. generalize (steps qk). generalize (steps lk).
        intros ts tqs SS. induction SS as [|tq t tqs ts T SS IH]; intros from list tks SUB ES F L.
        - destruct tks; [|discriminate]. cbn in ES. injection ES as <-. split; [reflexivity|intros t e []].
        - destruct tks as [|tk tks]; [discriminate|]. cbn [numbered combine each_some] in ES. destruct (window_of _ _ _ _ _) as [x|] eqn:WX; [|discriminate].
          destruct (each_some _ _) as [list'|] eqn:ES'; [|discriminate]. injection ES as <-. cbn [forallb] in F. apply andb_prop in F as [F1 F2].
          destruct (IH (S from) list' tks) as [IH1 IH2]; [intros i tq' N; specialize (SUB (S i) tq' N); rewrite <- plus_n_Sm in SUB; exact SUB|exact ES'|exact F2|
            cbn [length] in L; lia|]. clear IH. rewrite !sum_cons, IH1.
          assert (forall e, In e (by_rows x n) -> In (fst e) (ids nodes)) as RANGE by (intros e Ie; exact (entries_here x n e F1 In' Ie)).
          destruct T as ([TO TW] & TL & TU & _). pose proof (two_power_pos a) as PA. pose proof (two_power_pos w) as PW.
          assert (by_rows x = operator t /\ taken_by a w (passed_by (S d)) n j x == exact exact_at n j tq) as [BR EX].
          { unfold window_of in WX. cbn [fst snd] in WX. destruct (stands _ (Computed _) _ _) eqn:C.
            - injection WX as <-. split; [reflexivity|]. unfold taken_by, exact. cbn [by_rows breadth offset factors] in *. symmetry.
              apply (sum_forall2_eq _ _ _ _ _ (TO n)). intros e e' _ Ie' [E2 E3]. rewrite E3, TU, TL.
              apply Qmult_comp; [field; intros Z0; rewrite Z0 in PA; discriminate PA|]. apply sum_eq. intros i Ii. rewrite E2.
              rewrite (stands_value _ _ _ _ i C (RANGE e' Ie') Ii). cbn [value]. rewrite TW. apply Qmult_comp; [reflexivity|].
              field; intros Z0; rewrite Z0 in PW; discriminate PW.
            - destruct (Nat.eqb (read_layer t) 0 && _) eqn:C'; [|discriminate]. apply andb_prop in C' as [C1 C2]. apply Nat.eqb_eq in C1. injection WX as <-.
              split; [reflexivity|]. unfold taken_by, exact. cbn [by_rows breadth offset factors] in *. symmetry.
              apply (sum_forall2_eq _ _ _ _ _ (TO n)). intros e e' _ Ie' [E2 E3]. rewrite E3.
              apply Qmult_comp; [field; intros Z0; rewrite Z0 in PA; discriminate PA|].
              rewrite (unity_sum w j (fun i => passed_by (S d) (fst e') (snd tk + i)%Z) _ W0 Ij), (stands_value _ _ _ _ j C2 (RANGE e' Ie') Ij). cbn [value].
              rewrite NQ. pose proof (SUB 0%nat tq eq_refl) as N. rewrite Nat.add_0_r, WH in N. cbn [fst snd]. rewrite N, TL, C1, E2. reflexivity. }
          split; [rewrite EX; reflexivity|]. intros t' e [<-|It] Ie; [|exact (IH2 t' e It Ie)].
          destruct (forall2_left _ _ _ e (TO n) Ie) as (e' & Ie' & E2 & _). rewrite E2. apply RANGE. rewrite BR. exact Ie'. }
      split.
      - intros n j In' Ij. destruct (block_value b list _ _ n j WI' F W B In' Ij) as (R & BI & PRE). destruct (ALL n j In' Ij) as [SUM _].
        assert (exact_before k n j = preactivation (ql :: qs) X n (block_first b + j)%Z) as EB by (unfold exact_before; rewrite PK, P1, P2, QN; reflexivity).
        split.
        + rewrite EB, PRE, SUM. apply Qplus_comp; [|reflexivity]. rewrite SB in BI. pose proof (two_power_pos (shift_of base rest + a + w)) as P.
          apply (Qmult_inj_l _ _ (2 ^ (shift_of base rest + a + w))); [intros C; rewrite C in P; discriminate P|exact BI].
        + cbn [exact_at]. rewrite PK, P1, P2, QN. cbn [passed_on]. unfold rectified. rewrite R, SR. reflexivity.
      - intros n j t e In' Ij It Ie. exact (proj2 (ALL n j In' Ij) t e It Ie).
    Qed.
  End Layer.

  Lemma held_all : forall z' s' blocks' d, arranged nodes count net places s d z' s' blocks' = true -> z' = skipn d z -> s' = skipn d s ->
    holds_at d (held_by count blocks').
  Proof.
    induction z' as [|l below IH]; intros s' blocks' d AR EZ ES; pose proof (scaled_at_skipn base d s qn z SCALED) as SC; rewrite <- EZ, <- ES in SC.
    - destruct s'; [|discriminate]. destruct blocks'; [|discriminate]. destruct (skipn d qn) as [|] eqn:EQ; [|destruct SC].
      intros b n i [<-|[]] In' Ii. unfold passed_by. rewrite EQ. cbn [the_rows block_first content_of value exact_at]. reflexivity.
    - destruct s' as [|[a w] rest]; [discriminate|]. destruct blocks' as [|bs others]; [discriminate|]. destruct (skipn d qn) as [|ql qs] eqn:EQ; [destruct SC|].
      destruct SC as (SC & TERMS & IN & RE & BI). cbn [arranged] in AR. apply andb_prop in AR as [AR A3]. apply andb_prop in AR as [A1 A2].
      pose proof (IH rest others (S d) A3 (eq_sym (proj1 (skipn_cons _ _ _ _ (eq_sym EZ)))) (eq_sym (proj1 (skipn_cons _ _ _ _ (eq_sym ES))))) as BELOW.
      intros b n i Ib In' Ii. cbn [held_by] in Ib. rewrite forallb_forall in A1. specialize (A1 b Ib).
      assert ((exists k, is_made b = true /\ content_of b = Computed (S k)) \/ (forall k, is_made b = true -> content_of b <> Computed (S k))) as [(k & MB & HB)|OTHER].
      { destruct (is_made b); [|right; discriminate]. destruct (content_of b) as [[|k]|]; [right|left|right]; eauto; discriminate. }
      + destruct (made_block d ql qs l a w rest (held_by count others) EQ (eq_sym ES) TERMS IN RE BI BELOW A2 b k A1 MB HB) as (p & lk & qk & PK & P1 & P2 & _).
        rewrite HB. cbn [value exact_at]. unfold exact_before. rewrite PK, P1, P2. reflexivity.
      + exact (other_block d ql qs l a w rest (held_by count others) EQ (eq_sym ES) TERMS IN RE BI BELOW b A1 OTHER n i In' Ii).
  Qed.

  Lemma arranged_at d : forall z' s' blocks' depth bs, arranged nodes count net places s depth z' s' blocks' = true -> nth_error blocks' d = Some bs ->
    exists l a w, skipn d z' = l :: skipn (S d) z' /\ skipn d s' = (a, w) :: skipn (S d) s' /\
      forallb (block_fits nodes net places s (depth + d) l a w (held_by count (skipn (S d) blocks'))) bs = true /\
      forallb (fun t => forallb (fun m => forallb (fun e => Z.leb 0 (fst e) && Z.ltb (fst e) nodes) (operator t m)) (ids nodes)) (terms l) = true /\
      arranged nodes count net places s (depth + S d) (skipn (S d) z') (skipn (S d) s') (skipn (S d) blocks') = true.
  Proof.
    induction d as [|d IH]; intros [|l below] [|[a w] rest] [|b bs'] depth bs AR N; try discriminate; cbn [arranged] in AR; apply andb_prop in AR as [AR A3];
      apply andb_prop in AR as [A1 A2].
    - injection N as ->. exists l, a, w. rewrite Nat.add_0_r, Nat.add_1_r. auto.
    - destruct (IH below rest bs' (S depth) bs A3 N) as (l' & a' & w' & E1 & E2 & E3 & E4 & E5). exists l', a', w'.
      rewrite <- !plus_n_Sm. cbn [Nat.add] in E3, E5. rewrite <- plus_n_Sm in E5. auto.
  Qed.

  Lemma nth_combine {B C} k : forall (l : list B) (r : list C) b c, nth_error l k = Some b -> nth_error r k = Some c -> nth_error (combine l r) k = Some (b, c).
  Proof. induction k as [|k IH]; intros [|b' l] [|c' r] b c Nb Nc; try discriminate; [injection Nb as ->; injection Nc as ->; reflexivity|]. exact (IH l r b c Nb Nc). Qed.

  (* What is known of a layer that runs. *)
  Theorem layer_values classes k l p : all_placed count net places classes blocks = true -> nth_error net k = Some l -> nth_error places k = Some p ->
    exists qk a w rest, skipn (layers_above p) s = (a, w) :: rest /\ nth_error qnet k = Some qk /\ scaled_stage base ((a, w) :: rest) qk l /\
      (forall n j, In n (ids nodes) -> In j (ids (wide p)) ->
        exact_before k n j == stage_bias qk n j + sum (steps qk) (exact exact_at n j) /\ exact_at (S k) n j == rectified (rectifies qk j) (exact_before k n j)) /\
      (forall n j t e, In n (ids nodes) -> In j (ids (wide p)) -> In t (steps qk) -> In e (operator t n) -> In (fst e) (ids nodes)) /\
      (forall t, In t (steps l) -> match read_layer t with
        | O => read_units t = count
        | S i => (i < k)%nat /\ exists p', nth_error places i = Some p' /\ read_units t = wide p'
        end).
  Proof.
    intros PL NL NP. unfold all_placed in PL. apply andb_prop in PL as [PL _]. apply andb_prop in PL as [_ PL]. rewrite forallb_forall in PL.
    assert (In (k, (l, p)) (numbered 0 (combine net places))) as I.
    { apply numbered_in. split; [lia|]. rewrite Nat.sub_0_r. exact (nth_combine k net places l p NL NP). }
    specialize (PL _ I). cbn [fst snd] in PL. unfold well_placed in PL. apply andb_prop in PL as [PL RD].
    destruct (nth_error blocks (layers_above p)) as [bs|] eqn:NB; [|discriminate]. apply existsb_exists in PL as (b & Ib & PL). apply andb_prop in PL as [MB HB].
    apply same_content_spec in HB. destruct (arranged_at (layers_above p) z s blocks 0 bs ARRANGED NB) as (l' & a & w & EZ & ES & BF & EN & AR).
    cbn [Nat.add] in BF, AR. pose proof (held_all _ _ _ _ AR eq_refl eq_refl) as BELOW. rewrite forallb_forall in BF. specialize (BF b Ib).
    pose proof (scaled_at_skipn base (layers_above p) s qn z SCALED) as SC. rewrite EZ, ES in SC. destruct (skipn (layers_above p) qn) as [|ql qs] eqn:EQ; [destruct SC|].
    destruct SC as (SC & TERMS & IN & RE & BI).
    destruct (made_block (layers_above p) ql qs l' a w _ _ EQ ES TERMS IN RE BI BELOW EN b k BF MB HB) as (p' & lk & qk & PK & _ & _ & PW & NK & NQ & VAL & RANGE).
    rewrite NP in PK. injection PK as <-. rewrite NL in NK. injection NK as <-. rewrite <- PW in VAL, RANGE.
    exists qk, a, w, (skipn (S (layers_above p)) s). split; [exact ES|]. split; [exact NQ|]. split; [|split; [exact VAL|split; [exact RANGE|]]].
    - destruct (STAGES k l p NL NP) as (qk' & NQ' & SS). rewrite NQ in NQ'. injection NQ' as <-. rewrite ES in SS. exact SS.
    - intros t It. rewrite forallb_forall in RD. specialize (RD t It). destruct (read_layer t) as [|i]; [apply Z.eqb_eq; exact RD|].
      apply andb_prop in RD as [R1 R2]. apply Nat.ltb_lt in R1. split; [exact R1|]. destruct (nth_error places i) as [p'|]; [|discriminate]. exists p'.
      split; [reflexivity|apply Z.eqb_eq; exact R2].
  Qed.
End Whole.
