(* Rows divided by their sums: the bound of a leaf holds. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units Rows Leaf Trees Sound Menus Divided.
Import ListNotations.
Open Scope Z_scope.

Local Arguments zvalue : simpl never.

Lemma best_sums_ext most l g g' ds : (forall d, g d = g' d) -> best_sums most l g ds -> best_sums most l g' ds.
Proof. intros E B A ND H LE. destruct (B A ND H LE) as (s & I & S). exists s. split; [exact I|]. rewrite <- (zsum_ext A g g' E). exact S. Qed.

(* What a change of a unit loses by its line. *)
Definition line_loss (u : unit2) (g : Z) : Z := fall u * pos (- g) - rise u * pos g.

Section DividedLeaf.
  Variables (P : problem) (F : list flip) (sigma : Z -> Z) (C : list condition) (present : Z -> list Z).
  Variables (sign : Z -> Z -> Z -> option bool) (whole : Z -> Z -> option (list (Z * Z))) (first : layer Z) (ready_width : Z) (h : hints).
  Hypothesis A : admissible P F.
  Hypothesis CO : forall c, In c C -> fulfils P F c.
  Hypothesis SIZE : 0 <= count P.
  Hypothesis SG : forall c, 0 <= c <= count P -> 0 <= sigma c.
  Hypothesis PRESENT : forall n, present n = filter (attributes P n) (ids (count P)).
  Hypothesis IN : inputs first = count P.
  Let made := all_ready (count P) ready_width first.
  Let V := divided sigma (count P) (attributes P).
  Let Y := divided sigma (count P) (flipped (attributes P) F).
  Let flips_in n := size (of_node n F).
  Let changed := delta P F sigma.
  Let rows_touched := touched F.

  Lemma present_reads : reads first (from_here sigma present) V.
  Proof.
    intros n w. unfold from_here, V, divided. rewrite zsum_map. cbn [fst snd]. rewrite PRESENT, zsum_filter, IN. apply zsum_ext. intros d.
    destruct (attributes P n d); cbn [bit]; lia.
  Qed.

  Lemma forward_here width m : get (zforward [first] (sent_from first width (from_here sigma present)) width) m = map (zvalue [first] V m) (ids width).
  Proof. apply (zforward_spec [first] _ V first width width m eq_refl), sent_from_spec, present_reads. Qed.

  Definition row_effect (m j n : Z) : Z := zsum (terms first) (fun t => zsum (operator t m) (fun e =>
    if Z.eqb (fst e) n then snd e * zsum (ids (count P)) (fun d => (Y n d - V n d) * weight t d j) else 0)).

  Lemma first_after m j : zvalue [first] Y m j = zvalue [first] V m j + zsum rows_touched (row_effect m j).
  Proof.
    unfold row_effect, zvalue at 1 2. cbn [zpassed]. rewrite zsum_swap, <- Z.add_assoc, <- zsum_plus. f_equal. apply zsum_ext. intros t.
    rewrite zsum_swap, <- zsum_plus. apply zsum_ext. intros e. rewrite IN.
    set (D := fun n => zsum (ids (count P)) (fun d => (Y n d - V n d) * weight t d j)).
    assert (zsum (ids (count P)) (fun i => Y (fst e) i * weight t i j) = zsum (ids (count P)) (fun i => V (fst e) i * weight t i j) + D (fst e)) as ->.
    { unfold D. rewrite <- zsum_plus. apply zsum_ext. intros. ring. }
    rewrite Z.mul_add_distr_l. f_equal.
    rewrite (zsum_ext _ _ (fun n => if Z.eqb n (fst e) then snd e * D n else 0)) by (intros n; rewrite Z.eqb_sym; reflexivity).
    destruct (in_dec Z.eq_dec (fst e) rows_touched) as [I|NI].
    - symmetry. apply (zsum_only rows_touched (fst e) (fun n => snd e * D n)); [apply once_nodup|exact I].
    - rewrite zsum_zero.
      + assert (D (fst e) = 0) as ->; [|lia].
        assert (~ In (fst e) (map fst F)) as NF by (intros I; apply NI; apply once_in; exact I).
        exact (delta_untouched P F sigma (fst e) NF {| number := 0; source := t; columns := tabulate (fun _ => None) |} j).
      + intros n Hn. destruct (Z.eqb_spec n (fst e)); [subst; contradiction|reflexivity].
  Qed.

  Definition along (x : vector) (grp : list (ready * Z)) (j : Z) : Z := zsum grp (fun e => snd e * x (fst e) j).

  Lemma effect_links m j n : zsum (links made m) (fun r => if Z.eqb (fst r) n then along (changed n) (snd r) j else 0) = row_effect m j n.
  Proof.
    unfold row_effect, links, along.
    set (G := fun (q : Z) (e : ready * Z) => if Z.eqb q n then snd e * changed n (fst e) j else 0).
    rewrite (zsum_ext _ _ (fun r => zsum (snd r) (G (fst r)))).
    - rewrite group_sum, zsum_flat_map. unfold made, all_ready. rewrite zsum_map, <- numbered_sum. apply zsum_ext. intros t. rewrite zsum_map. cbn [source make_ready fst snd].
      apply zsum_ext. intros e. unfold G. cbn [fst snd]. destruct (Z.eqb (fst e) n); reflexivity.
    - intros r. unfold G. destruct (Z.eqb (fst r) n); [reflexivity|]. symmetry. apply zsum_zero. reflexivity.
  Qed.

  Lemma effect_row m j n grp : ascending (links made m) = true -> In (n, grp) (links made m) -> row_effect m j n = along (changed n) grp j.
  Proof.
    intros ASC I. rewrite <- effect_links. exact (zsum_key (links made m) n grp (fun r => along (changed n) (snd r) j) (ascending_nodup _ ASC) I).
  Qed.

  Lemma effect_no_row m j n : ~ In n (map fst (links made m)) -> row_effect m j n = 0.
  Proof. intros NI. rewrite <- effect_links. exact (zsum_no_key (links made m) n (fun r => along (changed n) (snd r) j) NI). Qed.

  Lemma effect_untouched m j n : ~ In n rows_touched -> row_effect m j n = 0.
  Proof.
    intros NI. assert (~ In n (map fst F)) as NF by (intros I; apply NI; apply once_in; exact I). unfold row_effect. apply zsum_zero. intros t _. apply zsum_zero. intros e _.
    destruct (Z.eqb (fst e) n); [|reflexivity].
    assert (zsum (ids (count P)) (fun d => (Y n d - V n d) * weight t d j) = 0) as ->; [|lia].
    exact (delta_untouched P F sigma n NF {| number := 0; source := t; columns := tabulate (fun _ => None) |} j).
  Qed.

  (* Rule 2. *)
  Lemma along_sublinear s grp j : sublinear (fun x => s * along x grp j).
  Proof.
    constructor; unfold along.
    - intros x y E. f_equal. apply zsum_ext. intros e. rewrite E. reflexivity.
    - intros x y. rewrite <- Z.mul_add_distr_l, <- zsum_plus. apply Z.eq_le_incl. f_equal. apply zsum_ext. intros e. ring.
    - intros c x _. rewrite (zsum_ext grp _ (fun e => c * (snd e * x (fst e) j))) by (intros; ring). rewrite zsum_scale. ring.
  Qed.

  Lemma additions_best m n s grp j adds : In (n, grp) (links made m) -> additions P n s grp j = Some adds ->
    best_sums (left_in P n) adds (fun d => s * weights grp j d) (fun d => 0 <= d < count P /\ kept P n false d = true).
  Proof.
    intros IL H.
    assert (forall l, ranks_of P n false (ids (count P)) (fun d => s * weights grp j d) = Some l ->
      best_sums (left_in P n) l (fun d => s * weights grp j d) (fun d => 0 <= d < count P /\ kept P n false d = true)) as K.
    { intros l R. unfold ranks_of in R. destruct (ranked _) as [full|] eqn:ER; [|discriminate]. inversion R; subst. apply ranked_spec in ER as [R1 R2].
      apply (best_of full (filter (kept P n false) (ids (count P)))); [exact R1| |].
      - intros f. rewrite R2, zsum_map. reflexivity.
      - intros d [H1 H2]. apply filter_In. split; [apply ids_in; exact H1|exact H2]. }
    unfold additions in H. destruct grp as [|[t a] [|]]; try (apply K; exact H).
    destruct (get (columns t) j) as [c|] eqn:EC; [|apply K; exact H]. inversion H as [HA]. clear H K.
    assert (In t made) as T by (apply (links_ready made m n [(t, a)] t a); [exact IL|left; reflexivity]).
    apply in_map_iff in T as ([q t0] & <- & _). cbn [columns make_ready snd] in EC. rewrite get_tabulate in EC. apply column_of_spec in EC as (R1 & R2 & P1 & P2).
    assert (forall d, weights [(make_ready (count P) ready_width (q, t0), a)] j d = a * weight t0 d j) as EW
      by (intros d; unfold weights; rewrite zsum_cons, zsum_nil; cbn [fst snd source make_ready]; lia).
    destruct (Z.leb_spec (s * a) 0) as [L|L]; rewrite take_spec; apply (best_of _ (filter (kept P n false) (ids (count P)))).
    - apply column_falls; assumption.
    - intros f. rewrite zsum_map, !zsum_filter, (zsum_perm _ _ _ P1), zsum_map. cbn [fst snd]. apply zsum_ext. intros d. rewrite EW, Z.mul_assoc. reflexivity.
    - intros d [H1 H2]. apply filter_In. split; [apply ids_in; exact H1|exact H2].
    - apply column_falls; [lia|assumption].
    - intros f. rewrite zsum_map, !zsum_filter, (zsum_perm _ _ _ P2), zsum_map. cbn [fst snd]. apply zsum_ext. intros d. rewrite EW.
      replace (- (s * a) * - weight t0 d j) with (s * (a * weight t0 d j)) by ring. reflexivity.
    - intros d [H1 H2]. apply filter_In. split; [apply ids_in; exact H1|exact H2].
  Qed.

  Lemma removals_best n g l : ranks_of P n true (present n) g = Some l ->
    best_sums (left_in P n) l g (fun d => 0 <= d < count P /\ kept P n true d = true).
  Proof.
    intros R. unfold ranks_of in R. destruct (ranked _) as [full|] eqn:ER; [|discriminate]. inversion R; subst. apply ranked_spec in ER as [R1 R2].
    apply (best_of full (filter (kept P n true) (present n))); [exact R1| |].
    - intros f. rewrite R2, zsum_map. reflexivity.
    - intros d [H1 H2]. apply filter_In. split; [|exact H2]. rewrite PRESENT. apply filter_In. split; [apply ids_in; exact H1|].
      unfold kept in H2. apply andb_prop in H2 as [H2 _]. apply eqb_prop in H2. exact H2.
  Qed.

  Lemma unit_menu_sound m s j n grp n' mn : In (n, grp) (links made m) -> unit_menu P sigma C present s j (n, grp) = Got (n', mn) ->
    n' = n /\ exists v, In (flips_in n, v) mn /\ s * along (changed n) grp j <= v.
  Proof.
    intros IL H. unfold unit_menu in H. destruct (additions P n s grp j) as [adds|] eqn:EA; [|discriminate].
    destruct (ranks_of P n true (present n) _) as [removes|] eqn:ER; [|discriminate]. inversion H. subst n' mn. split; [reflexivity|].
    pose proof (along_sublinear s grp j) as S.
    assert (s * zsum (present n) (weights grp j) = s * along (whole_vector present n) grp j) as EW.
    { f_equal. unfold along, whole_vector, weights. rewrite zsum_swap. apply zsum_ext. intros e. rewrite zsum_scale. reflexivity. }
    assert (forall x, - (s * along x grp j) = s * along (minus x) grp j) as EM.
    { intros x. unfold along, minus. rewrite (zsum_ext grp (fun e => snd e * - x (fst e) j) (fun e => - (snd e * x (fst e) j))) by (intros; ring). rewrite zsum_opp. ring. }
    rewrite EW, EM.
    apply (menu_has P F sigma C present A CO SIZE SG PRESENT (fun x => s * along x grp j) n adds removes S).
    - exact (additions_best m n s grp j adds IL EA).
    - apply removals_best in ER. apply (best_sums_ext _ _ _ _ _ (fun d => EM (weight_vector d)) ER).
  Qed.

  Lemma reach_unit_sound m s j p U : ascending (links made m) = true -> reach_unit P sigma C present s (links made m) j p = Got U ->
    zsum rows_touched (fun n => pos (s * row_effect m j n)) <= U.
  Proof.
    intros ASC H. unfold reach_unit in H. apply bind_got in H as (menus & HM & HR). apply each_one_got in HM.
    pose proof (ascending_nodup _ ASC) as ND.
    assert (map fst menus = map fst (links made m) /\ forall n mn, In (n, mn) menus -> exists grp, In (n, grp) (links made m) /\ exists v, In (flips_in n, v) mn /\ s * along (changed n) grp j <= v) as [EF HV].
    { clear HR. assert (forall e, In e (links made m) -> In e (links made m)) as SUB by auto. revert SUB HM. generalize (links made m) at 1 3 4 as l. intros l SUB HM.
      induction HM as [|[n grp] [n' mn] l ms G HM IH]; [split; [reflexivity|intros ? ? []]|].
      destruct (unit_menu_sound m s j n grp n' mn (SUB _ (or_introl eq_refl)) G) as (-> & v & Iv & Lv).
      destruct (IH (fun e I => SUB e (or_intror I))) as [IH1 IH2]. split; [cbn [map fst]; rewrite IH1; reflexivity|].
      intros n0 mn0 [E|I]; [inversion E; subst; exists grp; split; [apply SUB; left; reflexivity|eauto]|eauto]. }
    apply (reach_rows_sound P F C A CO menus p (fun n => s * row_effect m j n) U); [rewrite EF; exact ND|exact HR| |].
    - intros n mn I. destruct (HV n mn I) as (grp & Ig & v & Iv & Lv). exists v. split; [exact Iv|]. rewrite (effect_row m j n grp ASC Ig). exact Lv.
    - intros n NI. rewrite EF in NI. rewrite effect_no_row by exact NI. lia.
  Qed.

  Lemma reach_unit_possible s rows j p : reach_unit P sigma C present s rows j p <> Impossible.
  Proof.
    unfold reach_unit. destruct (each_one _ rows) as [menus| |] eqn:E; cbn [bind]; try discriminate.
    - unfold reach_rows. destruct (not_negative _); discriminate.
    - apply each_one_impossible in E as ([n grp] & _ & E). unfold unit_menu in E. destruct (additions _ _ _ _ _); [destruct (ranks_of _ _ _ _ _)|]; discriminate.
  Qed.

  (* One unit. *)
  Lemma split_effect m j : zsum rows_touched (row_effect m j) = zsum rows_touched (fun n => pos (row_effect m j n)) - zsum rows_touched (fun n => pos (- row_effect m j n)).
  Proof. rewrite <- Z.add_opp_r, <- zsum_opp, <- zsum_plus. apply zsum_ext. intros. unfold pos. lia. Qed.

  Lemma reaches m j p q U W : ascending (links made m) = true -> reach_unit P sigma C present 1 (links made m) j p = Got U ->
    reach_unit P sigma C present (-1) (links made m) j q = Got W ->
    0 <= zsum rows_touched (fun n => pos (row_effect m j n)) <= U /\ 0 <= zsum rows_touched (fun n => pos (- row_effect m j n)) <= W.
  Proof.
    intros ASC HU HW. apply (reach_unit_sound m 1 j p U ASC) in HU. apply (reach_unit_sound m (-1) j q W ASC) in HW.
    rewrite (zsum_ext _ (fun n => pos (1 * row_effect m j n)) (fun n => pos (row_effect m j n))) in HU by (intros; f_equal; lia).
    rewrite (zsum_ext _ (fun n => pos (-1 * row_effect m j n)) (fun n => pos (- row_effect m j n))) in HW by (intros; f_equal; lia).
    split; (split; [apply zsum_nonneg; intros; unfold pos; lia|assumption]).
  Qed.

  Lemma row_unit_bound_sound m side j kj z : ascending (links made m) = true ->
    let after := z + zsum rows_touched (row_effect m j) in
    counts side after = true ->
    match row_unit_bound P sigma C present h first (links made m) side m j kj z with
    | Got (c, u) => place u = j /\ bent u = [] /\ c - zsum rows_touched (fun n => line_loss u (row_effect m j n)) <= kj * (if relu first j then pos after else after)
    | Impossible => False
    | Failed => True
    end.
  Proof.
    intros ASC after S. unfold row_unit_bound. destruct (relu first j).
    - destruct (reach_unit P sigma C present 1 _ j _) as [U| |] eqn:EU; cbn [bind]; auto; [|exact (reach_unit_possible _ _ _ _ EU)].
      destruct (reach_unit P sigma C present (-1) _ j _) as [W| |] eqn:EW; cbn [bind]; auto; [|exact (reach_unit_possible _ _ _ _ EW)].
      destruct (line h m j) as [r f0]. destruct (reaches m j _ _ U W ASC EU EW) as [HU HW].
      set (u := zsum rows_touched (fun n => pos (row_effect m j n))) in *. set (v := zsum rows_touched (fun n => pos (- row_effect m j n))) in *.
      assert (after = z + u - v) as EA by (unfold after, u, v; rewrite split_effect; lia).
      assert (counts side (z + u - v) = true) as S' by (rewrite <- EA; exact S).
      destruct (least_sound kj z r f0 U W side u v HU HW S') as (base & -> & L). rewrite <- EA in L. cbn [place bent]. split; [reflexivity|]. split; [reflexivity|].
      unfold line_loss. cbn [rise fall].
      rewrite (zsum_ext rows_touched _ (fun n => f0 * pos (- row_effect m j n) + - r * pos (row_effect m j n))) by (intros; ring).
      rewrite zsum_plus, !zsum_scale. fold u v. lia.
    - cbn [place bent]. split; [reflexivity|]. split; [reflexivity|]. unfold line_loss. cbn [rise fall].
      rewrite (zsum_ext rows_touched _ (fun n => - kj * row_effect m j n)).
      + rewrite zsum_scale. unfold after. lia.
      + intros n. set (g := row_effect m j n). assert (g = pos g - pos (- g)) as E by (unfold pos; lia). rewrite E at 3. ring.
  Qed.

  Lemma row_intervals_sound shortcut net width wanted : ends net first -> zobeys sign net Y -> zwhole whole net Y ->
    match row_intervals P sigma C present sign whole made h shortcut net width wanted with
    | Got res => forall n b, In (n, b) res -> holds width (zvalue net Y n) b
    | Impossible => False
    | Failed => True
    end.
  Proof.
    revert shortcut width wanted. induction net as [|l below IH]; intros shortcut width wanted E O W; [exact I|]. cbn [row_intervals].
    destruct below as [|l' below'].
    - cbn [ends] in E. subst l. destruct O as [O _].
      set (f := fun m : Z => _). assert (forall m, match f m with Got r => fst r = m /\ holds width (zvalue [first] Y m) (snd r) | Impossible => False | Failed => True end) as K.
      { intros m. unfold f. set (rows := links made m). destruct (ascending rows) eqn:ASC; [|exact I].
        rewrite forward_here. set (inner := fun p : Z * Z => _).
        destruct (each_one inner _) as [bs| |] eqn:EI; cbn [bind]; auto.
        2: { apply each_one_impossible in EI as (p & _ & EI). unfold inner in EI. apply bind_impossible in EI as [EI|(U & _ & EI)]; [exact (reach_unit_possible _ _ _ _ EI)|].
             apply bind_impossible in EI as [EI|(W0 & _ & EI)]; [exact (reach_unit_possible _ _ _ _ EI)|discriminate]. }
        assert (holds width (zvalue [first] Y m) bs) as HB.
        { apply each_one_got in EI. split.
          - apply same_length in EI. rewrite combine_length, map_length in EI. lia.
          - intros i bd Ib. assert (inner (i, zvalue [first] V m i) = Got bd) as G.
            { clear - EI Ib. revert bs EI Ib. generalize (ids width). intros u. induction u as [|v u IHu]; intros bs EI Ib; cbn [map combine] in *; [destruct Ib|].
              inversion EI as [|? b0 ? bs' G EI']; subst. destruct Ib as [Eq|Ib]; [inversion Eq; subst; exact G|]. apply (IHu bs'); auto. }
            unfold inner in G. cbn [fst snd] in G. apply bind_got in G as (U & GU & G). apply bind_got in G as (W0 & GV & G).
            assert (bd = (zvalue [first] V m i - W0, zvalue [first] V m i + U)) as -> by congruence. cbn [fst snd].
            destruct (reaches m i _ _ U W0 ASC GU GV) as [RU RW]. rewrite first_after, split_effect. lia. }
        pose proof (clipped_sound sign 2 m width _ bs HB (O m)) as HC. destruct (clipped sign 2 m width bs); cbn [bind fst snd]; auto. }
      clearbody f. destruct (each_one f wanted) as [res| |] eqn:ER; auto.
      + apply each_one_got in ER. intros n b Hb. clear - ER K Hb. induction ER as [|m r ms rs G ER IHr]; [destruct Hb|]. destruct Hb as [->|Hb]; [|auto].
        specialize (K m). rewrite G in K. cbn [fst snd] in K. destruct K as [-> K]. exact K.
      + apply each_one_impossible in ER as (m & _ & G). specialize (K m). rewrite G in K. exact K.
    - destruct O as [O O']. destruct W as [W W']. set (senders := sources _ _).
      specialize (IH false (inputs l) senders E O' W').
      match goal with |- context [bind ?r _] => set (below_known := r) end.
      assert (match below_known with
        | Got res => forall n b, In (n, b) res -> holds (inputs l) (zvalue (l' :: below') Y n) b
        | Impossible => False | Failed => True end) as IB.
      { unfold below_known. destruct shortcut; [|exact IH]. clear - W'. destruct (each_one _ senders) as [res| |] eqn:ER; auto.
        - apply each_one_got in ER. intros n b Hb. induction ER as [|m r ms rs G ER IHr]; [destruct Hb|]. destruct Hb as [->|Hb]; [|auto].
          destruct (whole (layer_number (l' :: below')) m) as [w|] eqn:EW; [|discriminate].
          destruct (Nat.eqb_spec (length w) (length (ids (inputs l)))) as [L|]; [|discriminate]. inversion G; subst. split; [exact L|].
          intros i bd Ib. apply (proj1 W' n b EW (inputs l)). exact Ib.
        - apply each_one_impossible in ER as (m & _ & G). destruct (whole _ m); [|discriminate]. destruct (Nat.eqb _ _); discriminate. }
      clear IH. rename IB into IH. destruct below_known as [inner| |]; cbn [bind]; auto.
      set (found := tabulate _). set (f := fun m : Z => _).
      assert (forall m, match f m with Got r => fst r = m /\ holds width (zvalue (l :: l' :: below') Y m) (snd r) | Impossible => False | Failed => True end) as K.
      { intros m. unfold f. destruct (forallb _ _) eqn:EL; [|exact I].
        assert (holds width (zvalue (l :: l' :: below') Y m) (propagate l (l' :: below') (get found) width m)) as HP.
        { apply propagate_sound. intros e He. rewrite forallb_forall in EL. specialize (EL e He). apply Nat.eqb_eq in EL.
          revert EL. unfold found. rewrite get_tabulate. destruct (List.find _ inner) as [[n b]|] eqn:Fd.
          - intros _. apply find_some in Fd as [Fi Fe]. apply Z.eqb_eq in Fe. cbn [fst snd] in *. subst n. apply IH. assumption.
          - cbn [length]. intros L. split; [exact L|]. intros i bd Ib. destruct (ids (inputs l)); [destruct Ib|discriminate]. }
        set (b := match whole _ m with Some w => _ | None => _ end).
        assert (holds width (zvalue (l :: l' :: below') Y m) b) as HB.
        { unfold b. destruct (whole _ m) as [w|] eqn:EW; [|exact HP]. destruct HP as [L HP]. split; [rewrite meet_length; exact L|].
          intros i x Ix. apply meet_in in Ix as (y & Iy & [->|(z & Iz & ->)]); [auto|]. specialize (HP _ _ Iy). specialize (W m w EW width i z Iz).
          cbn [fst snd]. lia. }
        pose proof (clipped_sound sign (layer_number (l :: l' :: below')) m width _ b HB (O m)) as HC.
        destruct (clipped sign _ m width b); cbn [bind fst snd]; auto. }
      clearbody f. destruct (each_one f wanted) as [res| |] eqn:ER; auto.
      + apply each_one_got in ER. intros n b Hb. clear - ER K Hb. induction ER as [|m r ms rs G ER IHr]; [destruct Hb|]. destruct Hb as [->|Hb]; [|auto].
        specialize (K m). rewrite G in K. cbn [fst snd] in K. destruct K as [-> K]. exact K.
      + apply each_one_impossible in ER as (m & _ & G). specialize (K m). rewrite G in K. exact K.
  Qed.

  (* What rows lose by all lines. *)
  Definition lines_loss (lines : list (Z * list unit2)) (n : Z) : Z :=
    zsum lines (fun e => zsum (snd e) (fun u => line_loss u (row_effect (fst e) (place u) n))).
  Definition unbent (lines : list (Z * list unit2)) : Prop := forall e u, In e lines -> In u (snd e) -> bent u = [].

  Lemma row_descend_sound net width o : ends net first -> zobeys sign net Y -> zwhole whole net Y ->
    match row_descend P sigma C present sign whole made h net width o with
    | Got (c, lines) => unbent lines /\ c - zsum rows_touched (lines_loss lines) <= zobjective net Y width o
    | Impossible => False
    | Failed => True
    end.
  Proof.
    revert width o. induction net as [|l below IH]; intros width o E O W; [exact I|]. cbn [row_descend].
    destruct below as [|l' [|l'' below']].
    - cbn [ends] in E. subst l. split.
      { intros e u He Hu. apply in_map_iff in He as (e0 & <- & _). cbn [snd] in Hu. apply in_map_iff in Hu as (p & <- & _). reflexivity. }
      unfold lines_loss. rewrite zsum_swap, zsum_map. cbn [fst snd]. unfold zobjective.
      match goal with |- ?a - ?b <= ?c => assert (a = c + b); [|lia] end. rewrite <- zsum_plus. apply zsum_ext. intros [m phi]. cbn [fst snd].
      rewrite forward_here.
      rewrite (zsum_ext rows_touched _ (fun n => zsum (combine (ids width) phi) (fun p => - (snd p * row_effect m (fst p) n)))).
      2: { intros n. rewrite zsum_map. apply zsum_ext. intros p. unfold line_loss. cbn [rise fall place].
           set (g := row_effect m (fst p) n). assert (g = pos g - pos (- g)) as Eg by (unfold pos; lia). rewrite Eg at 3. ring. }
      rewrite zsum_swap. unfold against. rewrite <- zsum_plus.
      assert (forall u, zsum (combine (combine u phi) (map (zvalue [first] V m) u)) (fun p => snd (fst p) * snd p) =
                        zsum (combine u phi) (fun p => snd p * zvalue [first] V m (fst p))) as ->.
      { intros u. generalize phi. induction u as [|v u IHu]; intros [|x r]; cbn [combine map]; try reflexivity. rewrite !zsum_cons. cbn [fst snd]. rewrite IHu. reflexivity. }
      apply zsum_ext. intros p. rewrite first_after, zsum_opp, zsum_scale. lia.
    - cbn [ends] in E. subst l'. destruct O as [_ [O _]].
      destruct (pull l width o) as [constant k] eqn:EP. pose proof (pull_sound l [first] Y width o) as PS. rewrite EP in PS. cbn [fst snd] in PS.
      set (f := fun e : Z * list Z => _).
      assert (forall e, match f e with
        | Got (c, le) => fst le = fst e /\ (forall u, In u (snd le) -> bent u = []) /\
            c - zsum rows_touched (fun n => zsum (snd le) (fun u => line_loss u (row_effect (fst le) (place u) n)))
            <= against (ids (inputs l)) (snd e) (fun i => zpassed [first] i (zvalue [first] Y (fst e) i))
        | Impossible => False | Failed => True end) as K.
      { intros [m ks]. unfold f. cbn [fst snd]. set (rows := links made m). destruct (ascending rows) eqn:ASC; [|exact I].
        rewrite forward_here. set (inner := fun p : Z * Z * Z => _).
        assert (forall j k0, match inner (j, k0, zvalue [first] V m j) with
          | Got (c, u) => place u = j /\ bent u = [] /\ c - zsum rows_touched (fun n => line_loss u (row_effect m j n)) <= k0 * zpassed [first] j (zvalue [first] Y m j)
          | Impossible => False | Failed => True end) as KI.
        { intros j k0. unfold inner. cbn [fst snd]. specialize (O m j). change (layer_number [first]) with 2 in O. rewrite first_after in O.
          pose proof (row_unit_bound_sound m (sign 2 m j) j k0 (zvalue [first] V m j) ASC O) as UB. cbn zeta in UB. fold rows in UB.
          rewrite first_after. cbn [zpassed]. exact UB. }
        assert (forall us, Forall2 (fun a b => inner a = Got b) (combine (combine (ids (inputs l)) ks) (map (zvalue [first] V m) (ids (inputs l)))) us ->
          (forall u, In u (map snd us) -> bent u = []) /\
          zsum us fst - zsum rows_touched (fun n => zsum (map snd us) (fun u => line_loss u (row_effect m (place u) n)))
          <= against (ids (inputs l)) ks (fun i => zpassed [first] i (zvalue [first] Y m i))) as KU.
        { generalize (ids (inputs l)). intros u. revert ks. induction u as [|j u IHu]; intros ks us FA; cbn [combine map] in *.
          - inversion FA; subst. split; [intros ? []|]. cbn. rewrite zsum_zero by reflexivity. unfold against. cbn. lia.
          - destruct ks as [|k0 ks]; cbn [combine] in FA.
            + inversion FA; subst. split; [intros ? []|]. cbn. rewrite zsum_zero by reflexivity. unfold against. cbn. lia.
            + inversion FA as [|? [c u0] ? us' G FA']; subst. destruct (IHu ks us' FA') as [R1 R2]. specialize (KI j k0). rewrite G in KI.
              destruct KI as (Q1 & Q2 & Q3). split; [intros x [<-|Hx]; auto|]. cbn [map snd]. rewrite zsum_cons. cbn [fst].
              rewrite (zsum_ext rows_touched _ (fun n => line_loss u0 (row_effect m j n) + zsum (map snd us') (fun u1 => line_loss u1 (row_effect m (place u1) n))))
                by (intros n; rewrite zsum_cons, Q1; reflexivity).
              rewrite zsum_plus. unfold against in *. cbn [combine]. rewrite zsum_cons. cbn [fst snd]. lia. }
        destruct (each_one inner _) as [us| |] eqn:EI; cbn [bind]; auto.
        - apply each_one_got in EI. destruct (KU us EI) as [K1 K2]. cbn [fst snd]. auto.
        - apply each_one_impossible in EI as ([[j k0] z] & Ij & G). 
          assert (z = zvalue [first] V m j) as ->.
          { clear - Ij. revert Ij. generalize (ids (inputs l)). intros u. revert ks. induction u as [|v u IHu]; intros [|x r]; cbn [combine map In]; try tauto.
            intros [Eq|Ij]; [inversion Eq; subst; reflexivity|]. apply (IHu r Ij). }
          specialize (KI j k0). rewrite G in KI. exact KI. }
      clearbody f. destruct (each_one f k) as [all| |] eqn:EA; cbn [bind]; auto.
      + apply each_one_got in EA. split.
        * intros e u He Hu. apply in_map_iff in He as ([c le] & <- & He). clear - EA K He Hu. induction EA as [|a b la lb G EA IHe]; [destruct He|].
          destruct He as [->|He]; [|auto]. specialize (K a). rewrite G in K. cbn [snd] in Hu. apply (proj1 (proj2 K)). assumption.
        * rewrite PS. unfold lines_loss. rewrite zsum_swap, zsum_map.
          assert (zsum all fst - zsum all (fun a => zsum rows_touched (fun n => zsum (snd (snd a)) (fun u => line_loss u (row_effect (fst (snd a)) (place u) n))))
            <= zsum k (fun e => against (ids (inputs l)) (snd e) (fun i => zpassed [first] i (zvalue [first] Y (fst e) i)))); [|lia].
          clear - EA K. induction EA as [|a [c le] la lb G EA IHe]; [cbn; lia|]. rewrite !zsum_cons. cbn [fst snd]. specialize (K a). rewrite G in K. lia.
      + apply each_one_impossible in EA as (e & _ & G). specialize (K e). rewrite G in K. exact K.
    - destruct O as [_ O']. destruct W as [_ W'].
      destruct (pull l width o) as [constant k] eqn:EP. pose proof (pull_sound l (l' :: l'' :: below') Y width o) as PS. rewrite EP in PS. cbn [fst snd] in PS.
      pose proof (row_intervals_sound false (l' :: l'' :: below') (inputs l) (map fst k) E O' W') as IS.
      destruct (row_intervals P sigma C present sign whole made h false (l' :: l'' :: below') (inputs l) (map fst k)) as [known| |]; cbn [bind]; auto.
      set (f := fun e : Z * list Z => _).
      assert (forall e, match f e with
        | Got (c, e') => c + against (ids (inputs l)) (snd e') (zvalue (l' :: l'' :: below') Y (fst e')) <=
            against (ids (inputs l)) (snd e) (fun i => zpassed (l' :: l'' :: below') i (zvalue (l' :: l'' :: below') Y (fst e) i))
        | Impossible => False | Failed => True end) as K.
      { intros [n ks]. unfold f. cbn [fst snd]. destruct (List.find _ known) as [[n' b]|] eqn:Fd; [|exact I].
        apply find_some in Fd as [Fi Fe]. apply Z.eqb_eq in Fe. cbn [fst snd] in *. subst n'. destruct (IS n b Fi) as [_ HB].
        destruct (relax _ _ _ _ _) as [[c s']| |] eqn:ER; cbn [bind fst snd]; auto.
        - apply (relax_sound _ _ _ _ _ _ _ _ ER HB).
        - exact (relax_possible _ _ _ _ _ ER). }
      clearbody f. destruct (each_one f k) as [relaxed| |] eqn:EA; cbn [bind]; auto.
      + specialize (IH (inputs l) (map snd relaxed) E O' W').
        destruct (row_descend P sigma C present sign whole made h (l' :: l'' :: below') (inputs l) (map snd relaxed)) as [[c lines]| |]; cbn [bind]; auto.
        destruct IH as [IH1 IH2]. cbn [fst snd]. apply each_one_got in EA.
        assert (zsum relaxed fst + zobjective (l' :: l'' :: below') Y (inputs l) (map snd relaxed) <=
          zsum k (fun e => against (ids (inputs l)) (snd e) (fun i => zpassed (l' :: l'' :: below') i (zvalue (l' :: l'' :: below') Y (fst e) i)))) as RX.
        { unfold zobjective. rewrite zsum_map. clear - EA K. induction EA as [|a [c0 e'] la lb G EA IHe]; [cbn; lia|]. rewrite !zsum_cons. cbn [fst snd].
          specialize (K a). rewrite G in K. lia. }
        split; [exact IH1|]. rewrite PS. lia.
      + apply each_one_impossible in EA as (e & _ & G). specialize (K e). rewrite G in K. exact K.
  Qed.
End DividedLeaf.
