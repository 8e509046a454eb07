(* The bound of a leaf holds: layers from the top down, intervals from the bottom up, and the losses of flips. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units Bends.
Import ListNotations.
Open Scope Z_scope.

Lemma against_plus {A} (u : list A) k f g : against u k (fun j => f j + g j) = against u k f + against u k g.
Proof. unfold against. rewrite <- zsum_plus. apply zsum_ext. intros. lia. Qed.

Lemma against_scale {A} (u : list A) k c f : against u k (fun j => c * f j) = c * against u k f.
Proof. unfold against. rewrite <- zsum_scale. apply zsum_ext. intros. lia. Qed.

Lemma against_zsum {A B} (u : list A) k (l : list B) f : against u k (fun j => zsum l (fun b => f b j)) = zsum l (fun b => against u k (f b)).
Proof.
  unfold against. rewrite (zsum_ext _ _ (fun p => zsum l (fun b => snd p * f b (fst p)))) by (intros; rewrite zsum_scale; reflexivity).
  apply zsum_swap.
Qed.

Lemma against_ext {A} (u : list A) k f g : (forall j, f j = g j) -> against u k f = against u k g.
Proof. intros H. unfold against. apply zsum_ext. intros. rewrite H. reflexivity. Qed.

Lemma against_fold {A} (u : list A) vs f : against u (fold_right vadd [] vs) f = zsum vs (fun v => against u v f).
Proof.
  induction vs as [|v vs IH]; cbn [fold_right].
  - unfold against. destruct u; reflexivity.
  - rewrite against_vadd, IH. reflexivity.
Qed.

Definition zobjective (net : network Z) (V : zrows) (width : Z) (o : objective) : Z :=
  zsum o (fun e => against (ids width) (snd e) (zvalue net V (fst e))).

Lemma pull_sound l below V width o :
  zobjective (l :: below) V width o =
  fst (pull l width o) + zsum (snd (pull l width o)) (fun e => against (ids (inputs l)) (snd e) (fun i => zpassed below i (zvalue below V (fst e) i))).
Proof.
  unfold zobjective, pull. cbn [fst snd]. set (H := fun n i => zpassed below i (zvalue below V n i)).
  rewrite zsum_map. cbn [fst snd].
  rewrite (zsum_ext (group _) _ (fun g => zsum (snd g) (fun v => against (ids (inputs l)) v (H (fst g))))) by (intros; apply against_fold).
  rewrite (group_sum _ (fun n v => against (ids (inputs l)) v (H n))), zsum_flat_map, <- zsum_plus.
  apply zsum_ext. intros [m phi]. cbn [fst snd zvalue]. rewrite against_plus. f_equal.
  rewrite against_zsum, zsum_flat_map. apply zsum_ext. intros t. rewrite against_zsum, zsum_map. apply zsum_ext. intros e. cbn [fst snd].
  rewrite against_scale, against_vscale, against_map. f_equal. rewrite against_zsum. apply zsum_ext. intros i. fold (H (fst e) i).
  rewrite against_scale. lia.
Qed.

Lemma relax_sound l s units k b c s' (z : Z -> Z) : relax l s units k b = Got (c, s') ->
  (forall i bd, In (i, bd) (combine units b) -> fst bd <= z i <= snd bd) ->
  c + against units s' z <= against units k (fun i => if relu l i then pos (z i) else z i).
Proof.
  revert k b c s'. induction units as [|i units IH]; intros k b c s' H B; cbn [relax] in H.
  { inversion H. subst. unfold against. cbn. lia. }
  destruct k as [|k0 k]. { inversion H. subst. unfold against. cbn. lia. }
  destruct b as [|[lo hi] b]; [discriminate|]. apply bind_got in H as ([c1 s1] & H1 & H2). cbn [fst snd] in H2.
  assert (c1 + against units s1 z <= against units k (fun i => if relu l i then pos (z i) else z i)) as K.
  { apply (IH k b); auto. intros x bd I. apply B. right. assumption. }
  specialize (B i (lo, hi) (or_introl eq_refl)). cbn [fst snd] in B.
  destruct (relu l i) eqn:E; inversion H2; subst; unfold against in *; cbn [combine]; rewrite !zsum_cons; cbn [fst snd]; rewrite E.
  - pose proof (intercept_sound k0 (s i) lo hi (z i) B). lia.
  - lia.
Qed.

Lemma relax_possible l s units k b : relax l s units k b <> Impossible.
Proof.
  revert k b. induction units as [|i units IH]; intros [|k0 k] [|[lo hi] b]; cbn [relax]; try discriminate.
  specialize (IH k b). destruct (relax l s units k b); cbn; try discriminate; [destruct (relu l i); discriminate|contradiction].
Qed.

Lemma zsum_combine_ids {B} (u : list Z) (b : list B) f : length b = length u -> zsum (combine u b) (fun p => f (fst p)) = zsum u f.
Proof.
  revert b. induction u as [|i u IH]; intros [|x b] L; try discriminate; [reflexivity|]. cbn [combine]. rewrite !zsum_cons. cbn [fst].
  rewrite IH; auto.
Qed.

(* Intervals of a node: one for each unit, and each holds. *)
Definition holds (width : Z) (z : Z -> Z) (b : list (Z * Z)) : Prop :=
  length b = length (ids width) /\ forall i bd, In (i, bd) (combine (ids width) b) -> fst bd <= z i <= snd bd.

Lemma holds_map width z f : (forall i, fst (f i) <= z i <= snd (f i)) -> holds width z (map f (ids width)).
Proof.
  intros H. split; [apply map_length|]. intros i bd I. apply in_combine_map in I as [-> _]. apply H.
Qed.

Lemma zpassed_mono net i x y : x <= y -> zpassed net i x <= zpassed net i y.
Proof. unfold zpassed, pos. destruct net as [|l net]; [auto|]. destruct (relu l i); lia. Qed.

Lemma propagate_sound l below V known width m :
  (forall e, In e (entries_of l m) -> holds (inputs l) (zvalue below V (fst e)) (known (fst e))) ->
  holds width (zvalue (l :: below) V m) (propagate l below known width m).
Proof.
  intros H. unfold propagate. apply holds_map. intros j. cbn [fst snd]. rewrite zvalue_entries.
  rewrite !zsum_flat_map, !zsum_map. cbn [fst snd].
  set (U := fun n i => zpassed below i (zvalue below V n i)).
  assert (forall r, In r (entries_of l m) -> forall p, In p (combine (ids (inputs l)) (known (fst r))) ->
    let q := activated below (fst p) (snd p) in fst q <= U (fst r) (fst p) <= snd q) as K.
  { intros r I [i bd] Ip. destruct (H r I) as [_ B]. specialize (B i bd Ip). unfold activated, U. cbn [fst snd]. split; apply zpassed_mono; lia. }
  split; apply Z.add_le_mono_l, zsum_le_in; intros r I; rewrite !zsum_map; cbn [fst snd];
    destruct (H r I) as [L _]; rewrite <- (zsum_combine_ids (ids (inputs l)) (known (fst r))) by assumption;
    apply zsum_le_in; intros p Ip; specialize (K r I p Ip); cbn zeta in K; unfold U in K;
    destruct (Z.ltb_spec 0 (zsum (snd r) (fun e => snd e * weight (fst e) (fst p) j))); cbn [fst snd]; nia.
Qed.

Fixpoint zobeys (sign : Z -> Z -> Z -> option bool) (net : network Z) (V : zrows) : Prop :=
  match net with
  | [] => True
  | _ :: below => (forall n i, counts (sign (layer_number net) n i) (zvalue net V n i) = true) /\ zobeys sign below V
  end.

Fixpoint zwhole (whole : Z -> Z -> option (list (Z * Z))) (net : network Z) (V : zrows) : Prop :=
  match net with
  | [] => True
  | _ :: below =>
      (forall n w, whole (layer_number net) n = Some w -> forall J i b, In (i, b) (combine (ids J) w) -> fst b <= zvalue net V n i <= snd b)
      /\ zwhole whole below V
  end.

Notation objective_value net X := (zobjective net (entries X)).
Notation obeys sign net X := (zobeys sign net (entries X)).
Notation whole_holds whole net X := (zwhole whole net (entries X)).

Fixpoint ends (net : network Z) (first : layer Z) : Prop :=
  match net with
  | [] => False
  | l :: below => match below with [] => l = first | _ => ends below first end
  end.

Lemma meet_length a b : length (meet a b) = length a.
Proof. revert b. induction a as [|x a IH]; intros [|y b]; cbn [meet length]; auto. Qed.

Lemma meet_in {A} (u : list A) a b i x : In (i, x) (combine u (meet a b)) ->
  exists y, In (i, y) (combine u a) /\ (x = y \/ exists z, In (i, z) (combine u b) /\ x = (Z.max (fst y) (fst z), Z.min (snd y) (snd z))).
Proof.
  revert a b. induction u as [|v u IH]; intros [|y a] [|z b]; cbn [meet combine In]; try tauto.
  - intros [E|E]; [inversion E; subst; exists x; auto|]. exists x. auto.
  - intros [E|E].
    + inversion E; subst. exists y. split; [auto|]. right. exists z. auto.
    + destruct (IH _ _ E) as (y' & I & [K|(z' & K & E')]); exists y'; split; auto. right. exists z'. auto.
Qed.

Lemma same_length {A B} (R : A -> B -> Prop) l r : Forall2 R l r -> length l = length r.
Proof. induction 1; cbn [length]; auto. Qed.

Local Arguments zvalue : simpl never.

Section OneLeaf.
  Variables (P : problem) (F : list flip) (sign : Z -> Z -> Z -> option bool) (whole : Z -> Z -> option (list (Z * Z))).
  Variables (first : layer Z) (ready_width : Z) (l2 : layer2) (h : hints).
  Hypothesis A : admissible P F.
  Hypothesis IN : inputs first = count P.
  Hypothesis KNOWS : knows P first ready_width l2.
  Let made := all_ready (count P) ready_width first.
  Let X := attributes P.
  Let Y := flipped X F.

  Lemma first_after m j : zpre [first] Y m j = zpre [first] X m j + zsum F (effect first X m j).
  Proof. exact (after_flips P F first A IN m j). Qed.

  Lemma clipped_sound number n width z b : holds width z b -> (forall i, counts (sign number n i) (z i) = true) ->
    match clipped sign number n width b with Got c => holds width z c | Impossible => False | Failed => True end.
  Proof.
    intros [L B] C. unfold clipped.
    assert (holds width z (map (fun p => clip (sign number n (fst p)) (snd p)) (combine (ids width) b))) as H.
    { split; [rewrite map_length, combine_length, L; lia|]. intros i bd I.
      assert (exists b0, In (i, b0) (combine (ids width) b) /\ bd = clip (sign number n i) b0) as (b0 & I0 & ->).
      { revert I. clear. generalize (ids width). intros u. revert b. induction u as [|v u IH]; intros [|y b]; cbn [combine map In]; try tauto.
        intros [E|E]; [inversion E; subst; eauto|]. destruct (IH _ E) as (b0 & ? & ?). eauto. }
      specialize (B i b0 I0). specialize (C i). destruct (sign number n i) as [[|]|]; cbn [clip counts fst snd] in *; try lia. }
    destruct (existsb empty_interval _) eqn:E; [|exact H]. apply existsb_exists in E as (bd & I & E). unfold empty_interval in E. apply Z.ltb_lt in E.
    destruct H as [L' H]. destruct (In_nth _ _ (0, 0) I) as (k & Lk & Nk).
    assert (In (nth k (ids width) 0, bd) (combine (ids width) (map (fun p => clip (sign number n (fst p)) (snd p)) (combine (ids width) b)))) as Ic.
    { rewrite <- Nk, <- combine_nth by (symmetry; exact L'). apply nth_In. rewrite combine_length, L'. lia. }
    specialize (H _ _ Ic). lia.
  Qed.

  Lemma intervals_sound shortcut net width wanted : ends net first -> obeys sign net Y -> whole_holds whole net Y ->
    match intervals P sign whole l2 h ready_width shortcut net width wanted with
    | Got res => forall n b, In (n, b) res -> holds width (zpre net Y n) b
    | Impossible => False
    | Failed => True
    end.
  Proof.
    revert shortcut width wanted. induction net as [|l below IH]; intros shortcut width wanted E O W; [exact I|]. cbn [intervals].
    destruct below as [|l' below'].
    - cbn [ends] in E. subst l. destruct O as [O _].
      destruct (Z.eqb_spec width ready_width) as [EW|]; [|exact I].
      set (f := fun m : Z => _). assert (forall m, match f m with Got r => fst r = m /\ holds width (zpre [first] Y m) (snd r) | Impossible => False | Failed => True end) as K.
      { intros m. unfold f. destruct (knows_ranges _ _ _ _ KNOWS) as (best_up & best_down & KR). rewrite (knows_links _ _ _ _ KNOWS), KR. clear KR. fold made. cbn zeta. set (rows := links made m). rewrite <- EW.
        destruct (ascending rows) eqn:ASC; [|exact I]. set (range := fun j : Z => _). set (inner := fun p : Z * (Z * (result Z * result Z)) => _).
        assert (forall j, exists up down, range_at P h rows m j (snd (range j)) = (select P 1 None rows j up, select P (-1) None rows j down)) as RANGE
          by (intros j; unfold range; cbn [snd]; apply range_at_some).
        destruct (each_one inner _) as [bs| |] eqn:EI; cbn [bind]; auto.
        2: { apply each_one_impossible in EI as ([j r] & Ij & EI). apply in_combine_map in Ij as [-> _]. unfold inner in EI. cbn [fst snd] in EI.
             destruct (RANGE j) as (up & down & ER). rewrite ER in EI. cbn [fst snd] in EI. unfold select in EI.
             destruct (not_negative up); [|discriminate]. cbn [bind] in EI. destruct (not_negative down); discriminate. }
        assert (holds width (zpre [first] Y m) bs) as HB.
        { apply each_one_got in EI. split.
          - apply same_length in EI. rewrite combine_length, map_length in EI. lia.
          - intros i bd Ib. assert (inner (i, range i) = Got bd) as G.
            { clear - EI Ib. revert bs EI Ib. generalize (ids width). intros u. induction u as [|v u IHu]; intros bs EI Ib; cbn [map combine] in *; [destruct Ib|].
              inversion EI as [|? b0 ? bs' G EI']; subst. destruct Ib as [Eq|Ib]; [inversion Eq; subst; exact G|]. apply (IHu bs'); auto. }
            unfold inner in G. cbn [fst snd] in G. destruct (RANGE i) as (up & down & ER). rewrite ER in G. cbn [fst snd] in G.
            apply bind_got in G as (U & GU & G). apply bind_got in G as (V & GV & G).
            assert (bd = (zpre [first] X m i - V, zpre [first] X m i + U)) as -> by (unfold range in G; cbn [fst] in G; unfold X; congruence). cbn [fst snd].
            apply (select_sound P F ready_width first m A ASC) in GU. apply (select_sound P F ready_width first m A ASC) in GV.
            cbn [capped] in GU, GV. rewrite first_after.
            rewrite (zsum_ext F (effect first X m i) (links_effect X rows i)) by (intros; symmetry; apply links_effect_spec).
            assert (zsum F (links_effect X rows i) <= U).
            { etransitivity; [|exact GU]. apply zsum_le_in. intros f0 _.
              change (links_effect X rows i f0 <= pos (1 * links_effect X rows i f0)). unfold pos. lia. }
            assert (- zsum F (links_effect X rows i) <= V).
            { rewrite <- zsum_opp. etransitivity; [|exact GV]. apply zsum_le_in. intros f0 _.
              change (- links_effect X rows i f0 <= pos (-1 * links_effect X rows i f0)). unfold pos. lia. }
            lia. }
        pose proof (clipped_sound 2 m width _ bs HB (O m)) as HC. destruct (clipped sign 2 m width bs); cbn [bind fst snd]; auto. }
      clearbody f. destruct (each_one f wanted) as [res| |] eqn:ER; auto.
      + apply each_one_got in ER. intros n b Hb. clear - ER K Hb. induction ER as [|m r ms rs G ER IHr]; [destruct Hb|]. destruct Hb as [->|Hb]; [|auto].
        specialize (K m). rewrite G in K. cbn [fst snd] in K. destruct K as [-> K]. exact K.
      + apply each_one_impossible in ER as (m & _ & G). specialize (K m). rewrite G in K. exact K.
    - destruct O as [O O']. destruct W as [W W']. set (senders := sources _ _).
      specialize (IH false (inputs l) senders E O' W').
      match goal with |- context [bind ?r _] => set (below_known := r) end.
      assert (match below_known with
        | Got res => forall n b, In (n, b) res -> holds (inputs l) (zpre (l' :: below') Y n) b
        | Impossible => False | Failed => True end) as IB.
      { unfold below_known. destruct shortcut; [|exact IH]. clear - W'. destruct (each_one _ senders) as [res| |] eqn:ER; auto.
        - apply each_one_got in ER. intros n b Hb. induction ER as [|m r ms rs G ER IHr]; [destruct Hb|]. destruct Hb as [->|Hb]; [|auto].
          destruct (whole (layer_number (l' :: below')) m) as [w|] eqn:EW; [|discriminate].
          destruct (Nat.eqb_spec (length w) (length (ids (inputs l)))) as [L|]; [|discriminate]. inversion G; subst. split; [exact L|].
          intros i bd Ib. apply (proj1 W' n b EW (inputs l)). exact Ib.
        - apply each_one_impossible in ER as (m & _ & G). destruct (whole _ m); [|discriminate]. destruct (Nat.eqb _ _); discriminate. }
      clear IH. rename IB into IH. destruct below_known as [inner| |]; cbn [bind]; auto.
      set (found := tabulate _). set (f := fun m : Z => _).
      assert (forall m, match f m with Got r => fst r = m /\ holds width (zpre (l :: l' :: below') Y m) (snd r) | Impossible => False | Failed => True end) as K.
      { intros m. unfold f. destruct (forallb _ _) eqn:EL; [|exact I].
        assert (holds width (zpre (l :: l' :: below') Y m) (propagate l (l' :: below') (get found) width m)) as HP.
        { apply propagate_sound. intros e He. rewrite forallb_forall in EL. specialize (EL e He). apply Nat.eqb_eq in EL.
          revert EL. unfold found. rewrite get_tabulate. destruct (List.find _ inner) as [[n b]|] eqn:Fd.
          - intros _. apply find_some in Fd as [Fi Fe]. apply Z.eqb_eq in Fe. cbn [fst snd] in *. subst n. apply IH. assumption.
          - cbn [length]. intros L. split; [exact L|]. intros i bd Ib. destruct (ids (inputs l)); [destruct Ib|discriminate]. }
        set (b := match whole _ m with Some w => _ | None => _ end).
        assert (holds width (zpre (l :: l' :: below') Y m) b) as HB.
        { unfold b. destruct (whole _ m) as [w|] eqn:EW; [|exact HP]. destruct HP as [L HP]. split; [rewrite meet_length; exact L|].
          intros i x Ix. apply meet_in in Ix as (y & Iy & [->|(z & Iz & ->)]); [auto|]. specialize (HP _ _ Iy). specialize (W m w EW width i z Iz).
          cbn [fst snd]. lia. }
        pose proof (clipped_sound (layer_number (l :: l' :: below')) m width _ b HB (O m)) as HC.
        destruct (clipped sign _ m width b); cbn [bind fst snd]; auto. }
      clearbody f. destruct (each_one f wanted) as [res| |] eqn:ER; auto.
      + apply each_one_got in ER. intros n b Hb. clear - ER K Hb. induction ER as [|m r ms rs G ER IHr]; [destruct Hb|]. destruct Hb as [->|Hb]; [|auto].
        specialize (K m). rewrite G in K. cbn [fst snd] in K. destruct K as [-> K]. exact K.
      + apply each_one_impossible in ER as (m & _ & G). specialize (K m). rewrite G in K. exact K.
  Qed.

  (* What flips lose by all lines. *)
  Definition total_loss (lines : list (Z * list unit2)) (f : flip) : Z :=
    zsum lines (fun e => zsum (snd e) (fun u => loss u f (effect first X (fst e) (place u) f))).

  Definition proper_lines (lines : list (Z * list unit2)) : Prop := forall e u, In e lines -> In u (snd e) -> proper u.

  Lemma no_nest_loss : zsum F (nest_loss P first h no_nest) = 0.
  Proof. apply zsum_zero. reflexivity. Qed.

  Lemma descend_sound net width o : ends net first -> obeys sign net Y -> whole_holds whole net Y ->
    match descend P sign whole made l2 h (attribute_rows (count P) ready_width first) ready_width net width o with
    | Got (c, (lines, ns)) => proper_lines lines /\ proper_nest h ready_width ns /\
        c - zsum F (total_loss lines) - zsum F (nest_loss P first h ns) <= objective_value net Y width o
    | Impossible => False
    | Failed => True
    end.
  Proof.
    revert width o. induction net as [|l below IH]; intros width o E O W; [exact I|]. cbn [descend].
    destruct below as [|l' [|l'' below']].
    - cbn [ends] in E. subst l. destruct (Z.eqb_spec width ready_width) as [EW|]; [|exact I]. split; [|split; [intros b []|rewrite no_nest_loss]].
      { intros e u He Hu. apply in_map_iff in He as (e0 & <- & _). cbn [snd] in Hu. apply in_map_iff in Hu as (p & <- & _). intros b []. }
      unfold total_loss. rewrite zsum_swap, zsum_map. cbn [fst snd]. unfold zobjective.
      match goal with |- ?a - ?b - 0 <= ?c => assert (a = c + b); [|lia] end. rewrite <- zsum_plus. apply zsum_ext. intros [m phi]. cbn [fst snd].
      rewrite (knows_rest _ _ _ _ KNOWS), <- EW.
      rewrite (zsum_ext F _ (fun f => zsum (combine (ids width) phi) (fun p => - (snd p * effect first X m (fst p) f)))).
      2: { intros f. rewrite zsum_map. apply zsum_ext. intros p. unfold loss. cbn [rise fall bent place]. rewrite zsum_nil.
           set (g := effect first X m (fst p) f). assert (g = pos g - pos (- g)) as Eg by (unfold pos; lia). rewrite Eg at 3. ring. }
      rewrite zsum_swap. unfold against. rewrite <- zsum_plus.
      assert (forall u, zsum (combine (combine u phi) (map (zpre [first] X m) u)) (fun p => snd (fst p) * snd p) =
                        zsum (combine u phi) (fun p => snd p * zpre [first] X m (fst p))) as ->.
      { intros u. generalize phi. induction u as [|v u IHu]; intros [|x r]; cbn [combine map]; try reflexivity. rewrite !zsum_cons. cbn [fst snd]. rewrite IHu. reflexivity. }
      apply zsum_ext. intros p. rewrite first_after, zsum_opp, zsum_scale. lia.
    - cbn [ends] in E. subst l'. destruct O as [_ [O _]].
      destruct (pull l width o) as [constant k] eqn:EP. pose proof (pull_sound l [first] (entries Y) width o) as PS. rewrite EP in PS. cbn [fst snd] in PS.
      destruct (Z.eqb_spec (inputs l) ready_width) as [EW|]; [|exact I].
      set (f := fun e : Z * list Z => _).
      assert (forall e, match f e with
        | Got (c, le) => fst le = fst e /\ (forall u, In u (snd le) -> proper u) /\
            c - zsum F (fun fl => zsum (snd le) (fun u => loss u fl (effect first X (fst le) (place u) fl)))
            <= against (ids (inputs l)) (snd e) (fun i => zpassed [first] i (zpre [first] Y (fst e) i))
        | Impossible => False | Failed => True end) as K.
      { intros [m ks]. unfold f. cbn [fst snd]. destruct (knows_ranges _ _ _ _ KNOWS) as (best_up & best_down & KR). rewrite (knows_links _ _ _ _ KNOWS), KR. clear KR. fold made. cbn zeta. set (rows := links made m). rewrite <- EW.
        destruct (ascending rows) eqn:ASC; [|exact I].
        set (range := fun j : Z => _). set (inner := fun p : Z * Z * (Z * (result Z * result Z)) => _).
        assert (forall j k0, match inner (j, k0, range j) with
          | Got (c, u) => place u = j /\ proper u /\ c - zsum F (fun fl => loss u fl (effect first X m j fl)) <= k0 * zpassed [first] j (zpre [first] Y m j)
          | Impossible => False | Failed => True end) as KI.
        { intros j k0. unfold inner, range. cbn [fst snd]. rewrite first_after.
          destruct (range_at_some P h rows m j (best_up rows j) (best_down rows j)) as (up & down & ->).
          pose proof (unit_bound_sound P F ready_width first m A ASC h (sign 2 m j) j k0 (zpre [first] X m j) up down) as UB.
          cbn zeta in UB. fold made rows in UB.
          rewrite (zsum_ext F (effect first X m j) (links_effect X rows j)) by (intros; symmetry; apply links_effect_spec).
          unfold X in *. specialize (O m j). change (layer_number [first]) with 2 in O. rewrite first_after in O. unfold X in O.
          rewrite (zsum_ext F (effect first (attributes P) m j) (links_effect (attributes P) rows j)) in O by (intros; symmetry; apply links_effect_spec).
          specialize (UB O). destruct (unit_bound P h first rows (sign 2 m j) m j k0 (zpre [first] (attributes P) m j) _) as [[c u]| |]; auto.
          destruct UB as (U1 & U2 & U3). split; [assumption|]. split; [assumption|]. cbn [zpassed].
          rewrite (zsum_ext F (fun fl => loss u fl (effect first (attributes P) m j fl)) (fun fl => loss u fl (links_effect (attributes P) rows j fl))); [exact U3|].
          intros fl. f_equal. symmetry. apply links_effect_spec. }
        assert (forall us, Forall2 (fun a b => inner a = Got b) (combine (combine (ids (inputs l)) ks) (map range (ids (inputs l)))) us ->
          (forall u, In u (map snd us) -> proper u) /\
          zsum us fst - zsum F (fun fl => zsum (map snd us) (fun u => loss u fl (effect first X m (place u) fl)))
          <= against (ids (inputs l)) ks (fun i => zpassed [first] i (zpre [first] Y m i))) as KU.
        { generalize (ids (inputs l)). intros u. revert ks. induction u as [|j u IHu]; intros ks us FA; cbn [combine map] in *.
          - inversion FA; subst. split; [intros ? []|]. cbn. rewrite zsum_zero by reflexivity. unfold against. cbn. lia.
          - destruct ks as [|k0 ks]; cbn [combine] in FA.
            + inversion FA; subst. split; [intros ? []|]. cbn. rewrite zsum_zero by reflexivity. unfold against. cbn. lia.
            + inversion FA as [|? [c u0] ? us' G FA']; subst. destruct (IHu ks us' FA') as [R1 R2]. specialize (KI j k0). rewrite G in KI.
              destruct KI as (Q1 & Q2 & Q3). split; [intros x [<-|Hx]; auto|]. cbn [map snd]. rewrite zsum_cons. cbn [fst].
              rewrite (zsum_ext F _ (fun fl => loss u0 fl (effect first X m j fl) + zsum (map snd us') (fun u1 => loss u1 fl (effect first X m (place u1) fl))))
                by (intros fl; rewrite zsum_cons, Q1; reflexivity).
              rewrite zsum_plus. unfold against in *. cbn [combine]. rewrite zsum_cons. cbn [fst snd]. lia. }
        destruct (each_one inner _) as [us| |] eqn:EI; cbn [bind]; auto.
        - apply each_one_got in EI. destruct (KU us EI) as [K1 K2]. cbn [fst snd]. auto.
        - apply each_one_impossible in EI as ([[j k0] z] & Ij & G). 
          assert (z = range j) as ->.
          { clear - Ij. revert Ij. generalize (ids (inputs l)). intros u. revert ks. induction u as [|v u IHu]; intros [|x r]; cbn [combine map In]; try tauto.
            intros [Eq|Ij]; [inversion Eq; subst; reflexivity|]. apply (IHu r Ij). }
          specialize (KI j k0). rewrite G in KI. exact KI. }
      clearbody f. destruct (each_one f k) as [all| |] eqn:EA; cbn [bind]; auto.
      + apply each_one_got in EA. split; [|split; [intros b []|rewrite no_nest_loss]].
        * intros e u He Hu. apply in_map_iff in He as ([c le] & <- & He). clear - EA K He Hu. induction EA as [|a b la lb G EA IHe]; [destruct He|].
          destruct He as [->|He]; [|auto]. specialize (K a). rewrite G in K. cbn [snd] in Hu. apply (proj1 (proj2 K)). assumption.
        * rewrite PS. unfold total_loss. rewrite zsum_swap, zsum_map.
          assert (zsum all fst - zsum all (fun a => zsum F (fun fl => zsum (snd (snd a)) (fun u => loss u fl (effect first X (fst (snd a)) (place u) fl))))
            <= zsum k (fun e => against (ids (inputs l)) (snd e) (fun i => zpassed [first] i (zpre [first] Y (fst e) i)))); [|lia].
          clear - EA K. induction EA as [|a [c le] la lb G EA IHe]; [cbn; lia|]. rewrite !zsum_cons. cbn [fst snd]. specialize (K a). rewrite G in K. lia.
      + apply each_one_impossible in EA as (e & _ & G). specialize (K e). rewrite G in K. exact K.
    - destruct O as [_ O']. destruct W as [_ W'].
      destruct (pull l width o) as [constant k] eqn:EP. pose proof (pull_sound l (l' :: l'' :: below') (entries Y) width o) as PS. rewrite EP in PS. cbn [fst snd] in PS.
      pose proof (intervals_sound false (l' :: l'' :: below') (inputs l) (map fst k) E O' W') as IS.
      destruct (intervals P sign whole l2 h ready_width false (l' :: l'' :: below') (inputs l) (map fst k)) as [known| |]; cbn [bind]; auto.
      destruct (nest_above P made l2 h (attribute_rows (count P) ready_width first) ready_width (l' :: l'' :: below') (inputs l) k) as [[v [k' own]]| |] eqn:EN; cbn [bind]; auto.
      2: { exact (nest_possible _ _ _ _ _ _ _ _ _ EN). }
      destruct (nest_sound P F first ready_width l2 h A IN KNOWS ready_width _ _ _ _ _ _ EN eq_refl) as [PN NS].
      { intros second f EB. inversion EB; subst. cbn [ends] in E. exact E. }
      cbn zeta in NS. cbn [fst snd]. fold X Y in NS. set (f := fun e : Z * list Z => _).
      assert (forall e, match f e with
        | Got (c, e') => c + against (ids (inputs l)) (snd e') (zpre (l' :: l'' :: below') Y (fst e')) <=
            against (ids (inputs l)) (snd e) (fun i => zpassed (l' :: l'' :: below') i (zpre (l' :: l'' :: below') Y (fst e) i))
        | Impossible => False | Failed => True end) as K.
      { intros [n ks]. unfold f. cbn [fst snd]. destruct (List.find _ known) as [[n' b]|] eqn:Fd; [|exact I].
        apply find_some in Fd as [Fi Fe]. apply Z.eqb_eq in Fe. cbn [fst snd] in *. subst n'. destruct (IS n b Fi) as [_ HB].
        destruct (relax _ _ _ _ _) as [[c s']| |] eqn:ER; cbn [bind fst snd]; auto.
        - apply (relax_sound _ _ _ _ _ _ _ _ ER HB).
        - exact (relax_possible _ _ _ _ _ ER). }
      clearbody f. destruct (each_one f k') as [relaxed| |] eqn:EA; cbn [bind]; auto.
      + specialize (IH (inputs l) (map snd relaxed) E O' W').
        destruct (descend P sign whole made l2 h _ ready_width (l' :: l'' :: below') (inputs l) (map snd relaxed)) as [[c [lines below_ns]]| |]; cbn [bind]; auto.
        destruct IH as (IH1 & IH2 & IH3). cbn [fst snd]. apply each_one_got in EA.
        assert (zsum relaxed fst + objective_value (l' :: l'' :: below') Y (inputs l) (map snd relaxed) <=
          zsum k' (fun e => against (ids (inputs l)) (snd e) (fun i => zpassed (l' :: l'' :: below') i (zpre (l' :: l'' :: below') Y (fst e) i)))) as RX.
        { unfold zobjective. rewrite zsum_map. clear - EA K. induction EA as [|a [c e'] la lb G EA IHe]; [cbn; lia|]. rewrite !zsum_cons. cbn [fst snd].
          specialize (K a). rewrite G in K. lia. }
        destruct (either own below_ns) as [ns| |] eqn:EE; cbn [bind]; auto; [|unfold either in EE; destruct (joints own), (joints below_ns); discriminate].
        assert (proper_nest h ready_width ns /\ zsum F (nest_loss P first h ns) = zsum F (nest_loss P first h own) + zsum F (nest_loss P first h below_ns)) as [NP NL].
        { unfold either in EE. destruct (joints own) as [|j0 js0] eqn:J1; [|destruct (joints below_ns) as [|j1 js1] eqn:J2; [|discriminate]]; inversion EE; subst; split; auto.
          - assert (zsum F (nest_loss P first h own) = 0); [|lia]. apply zsum_zero. intros fl _. unfold nest_loss, bends_loss. rewrite J1. reflexivity.
          - assert (zsum F (nest_loss P first h below_ns) = 0); [|lia]. apply zsum_zero. intros fl _. unfold nest_loss, bends_loss. rewrite J2. reflexivity. }
        split; [exact IH1|]. split; [exact NP|]. rewrite PS, NL. lia.
      + apply each_one_impossible in EA as (e & _ & G). specialize (K e). rewrite G in K. exact K.
  Qed.
End OneLeaf.
