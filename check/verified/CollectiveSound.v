(* What the checker accepts of one attack for the whole graph is true: no attack breaks more predictions than claimed. *)
From Coq Require Import ZArith QArith List Bool Lia Psatz FMapPositive.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units Rows Leaf Losses Trees Sound Floats Parts Collective CollectiveWorth CollectiveParts.
Import ListNotations.
Open Scope Z_scope.

(* What is computed once for all lines. *)
Definition ready_for (z : network Z) (classes : Z) (P : problem) (t : tools) (first : layer Z) (width : Z) : Prop :=
  ends z first /\ inputs first = count P /\ attribute_weights t = attribute_rows (count P) width first /\
  (forall d, get (weights_at t) d = map (fun tm => map (weight (snd tm) d) (ids width)) (numbered first)) /\
  (exists l2, knows P first width l2 /\
    forall whole h, linear_of t whole h = linear P no_signs whole (all_ready (count P) width first) l2 h (attribute_rows (count P) width first) width z classes) /\
  sound z classes P no_rivals entries (for_nodes t).

Lemma prepared_ready z classes P t : prepare_collective z classes P = Some t -> exists first width, ready_for z classes P t first width.
Proof.
  intros READY. pose proof (prepared_sound z classes P no_rivals) as PS. unfold prepare in PS. unfold prepare_collective in READY.
  destruct (bottom z classes) as [[first width]|] eqn:B; [|discriminate]. destruct (Z.eqb_spec (inputs first) (count P)) as [E|]; [|discriminate].
  inversion READY. exists first, width. split; [exact (bottom_ends _ _ _ _ B)|]. split; [exact E|]. split; [reflexivity|].
  split; [intros d; cbn [weights_at]; rewrite get_tabulate; reflexivity|]. split; [|apply PS; reflexivity].
  eexists. split; [exact (layer2_knows P first width (grain_for (attribute_rows (count P) width first)))|]. reflexivity.
Qed.

Fixpoint all_taken (t : tools) (P : problem) (st : state) (ls : list collective_line) : option state :=
  match ls with [] => Some st | l :: rest => match take_line t P st l with Some st' => all_taken t P st' rest | None => None end end.

Section Collective.
  Variables (z : network Z) (classes : Z) (P : problem) (t : tools) (first : layer Z) (width : Z).
  Hypothesis READY : ready_for z classes P t first width.
  Let p := for_nodes t.
  Let after (F : list flip) : zrows := entries (flipped (attributes P) F).

  Section OneAttack.
    Variables (m : option Z) (F : list flip).
    Hypothesis ATTACK : attack P m F.

    Definition ties_or_worse (n y : Z) : Prop :=
      exists other, 0 <= other < classes /\ other <> y /\ zvalue z (after F) n y <= zvalue z (after F) n other.

    (* A share line, and weights: if the prediction is broken, flips are worth its share. *)
    Definition holds_for (s : (Z * Z) * (stake * reached)) (w : flip -> Z) : Prop :=
      good_stake (fst (snd s)) /\ NoDup (map fst (snd (snd s))) /\ weighs P first width (snd (snd s)) w /\
      (ties_or_worse (fst (fst s)) (snd (fst s)) -> share_of (fst (snd s)) * ONE <= zsum F (fun f => worth_of (fst (snd s)) f (w f))).

    Lemma against_class_sound whole l other part : whole_sound z entries P whole ->
      0 <= reference l < classes -> 0 <= other < classes -> other <> reference l -> against_class t whole l other = Got part ->
      exists r, sound_rival P first width r /\ part = map (fun row => (fst row, (constant r, snd row))) (of_rows r) /\
        (zvalue z (after F) (owner l) (reference l) <= zvalue z (after F) (owner l) other -> constant r <= zsum F (loses r)).
    Proof.
      intros WS Hy Ho D. destruct READY as (EN & IN & AW & WA & (l2 & KNOWS & LIN) & SOUND). fold p in SOUND. unfold against_class. destruct (List.find _ _) as [[o [scale h]]|]; [|discriminate].
      destruct (Z.ltb_spec 0 scale) as [SC|]; [|discriminate]. rewrite LIN.
      pose proof (linear_sound P F first width l2 h (proj1 ATTACK) IN KNOWS no_signs whole z classes (margin p (owner l) (reference l) other scale) EN (no_signs_obeyed z _) (WS F (proj1 ATTACK))) as LS.
      fold p. destruct (linear _ _ _ _ _ _ _ _ _ _ _) as [[c rows]| |]; cbn [bind fst snd]; try discriminate. destruct LS as (L & LS & B).
      destruct (Z.ltb_spec 0 c) as [C|]; [|discriminate]. intros [= <-]. exists {| constant := c; loses := L; of_rows := rows |}. cbn [constant loses of_rows].
      split; [split; assumption|]. split; [reflexivity|]. intros LE.
      rewrite (margin_value z classes P no_rivals entries p SOUND) in B; [|apply ids_in; lia|apply ids_in; lia|assumption]. fold (after F) in B. nia.
    Qed.

    Lemma stake_of_sound whole l s : whole_sound z entries P whole -> stake_of t P whole l = Some s -> zpredicted z P classes entries (owner l) (reference l) ->
      exists w, holds_for ((owner l, reference l), s) w.
    Proof.
      intros WS H PR. destruct READY as (EN & IN & AW & WA & LIN & SOUND). fold p in SOUND. unfold stake_of in H.
      destruct (_ && _) eqn:E in H; [|discriminate]. apply andb_prop in E as [E _]. apply andb_prop in E as [E _]. apply andb_prop in E as [E E3]. apply andb_prop in E as [E1 E2].
      apply Z.leb_le in E1, E2. rewrite forallb_forall in E3. unfold rows_of in H. fold p in H. rewrite (same_classes _ _ _ _ _ _ SOUND) in H.
      destruct (each_one _ _) as [parts| |] eqn:EO; try discriminate. set (rows := group (concat parts)) in *. destruct (ascending rows) eqn:ASC; [|discriminate].
      apply ascending_nodup in ASC. apply each_one_got in EO.
      assert (forall other, In other (filter (fun other => negb (Z.eqb other (reference l))) (ids classes)) <-> 0 <= other < classes /\ other <> reference l) as OTHERS.
      { intros other. rewrite filter_In, ids_in, negb_true_iff, Z.eqb_neq. reflexivity. }
      set (others := filter _ _) in *.
      assert (exists rs, parts = map (fun r => map (fun row => (fst row, (constant r, snd row))) (of_rows r)) rs /\ (forall r, In r rs -> sound_rival P first width r) /\
        forall other, In other others -> zvalue z (after F) (owner l) (reference l) <= zvalue z (after F) (owner l) other -> exists r, In r rs /\ constant r <= zsum F (loses r)) as (rs & EP & SR & BR).
      { assert (forall other, In other others -> 0 <= other < classes /\ other <> reference l) as OK by (intros other; apply OTHERS). clear H OTHERS rows ASC.
        clearbody others. induction EO as [|other part others' parts' G EO IH]; [exists []; split; [reflexivity|split; [intros ? []|intros ? []]]|].
        destruct IH as (rs & -> & SR & BR); [intros o Io; apply OK; right; exact Io|]. destruct (OK other (or_introl eq_refl)) as [Ho D].
        destruct (against_class_sound whole l other part WS (proj1 PR) Ho D G) as (r & R1 & -> & R3).
        exists (r :: rs). split; [reflexivity|]. split; [intros r' [<-|I]; auto|]. intros o [<-|I] L; [exists r; split; [left; reflexivity|auto]|].
        destruct (BR o I L) as (r' & I' & B'). exists r'. split; [right; exact I'|exact B']. }
      exists (least_weight rs).
      assert (weighs P first width rows (least_weight rs)) as W by (unfold rows in *; rewrite EP in *; apply weighs_least; assumption).
      assert (ties_or_worse (owner l) (reference l) -> ONE <= zsum F (least_weight rs)) as REACH.
      { intros (other & Ho & D & L). destruct (BR other (proj2 (OTHERS other) (conj Ho D)) L) as (r & I & B). apply (weights_reach P first width rs r F); assumption. }
      destruct (sizes_of t P rows l) as [g|] eqn:EG; [|discriminate]. destruct (forallb _ (covers_of t P rows (stated_covers l))) eqn:EC; [|discriminate].
      apply some_eq in H; subst s. rewrite forallb_forall in EC.
      assert ((0 <= few g /\ 0 <= more g) /\ (ONE <= zsum F (least_weight rs) -> of_size l * ONE <= zsum F (fun f => of_size l * size_of g (least_weight rs f)))) as [G12 G3].
      { unfold sizes_of in EG. destruct (Z.eqb_spec (of_size l) 0) as [Z0|NZ].
        - apply some_eq in EG; subst g. split; [cbn; lia|]. intros _. rewrite Z0, (zsum_zero F) by reflexivity. lia.
        - rewrite AW in EG. destruct (grade_sound P first width rows (least_weight rs) F _ _ g ASC W (proj1 ATTACK) EG) as [G G3]. split; [exact G|]. intros R.
          rewrite zsum_scale. apply Z.mul_le_mono_nonneg_l; auto. }
      assert (forall c, In c (covers_of t P rows (stated_covers l)) -> 0 <= by_cover c /\ 0 < rest c) as GC.
      { intros c I. split; [|apply Z.ltb_lt, EC; exact I]. unfold covers_of in I. apply in_map_iff in I as (c' & <- & I). apply Z.leb_le. exact (E3 c' I). }
      unfold holds_for. cbn [fst snd]. split; [unfold good_stake; cbn [by_weight by_size grades covers]; tauto|]. split; [exact ASC|]. split; [exact W|]. intros TW. specialize (REACH TW).
      unfold worth_of, share_of. cbn [by_weight by_size grades covers]. rewrite !zsum_plus, !Z.mul_add_distr_r. apply Z.add_le_mono; [apply Z.add_le_mono|].
      + rewrite zsum_scale. apply Z.mul_le_mono_nonneg_l; assumption.
      + exact (G3 REACH).
      + rewrite zsum_swap, <- zsum_scale_r. apply zsum_le_in. intros c I. destruct (GC c I) as [C1 C2].
        exact (covers_of_sound t P first width rows (least_weight rs) F (stated_covers l) c W (proj1 ATTACK) WA I C1 C2 REACH).
    Qed.

    (* What is known after some lines. *)
    Record known_sound (st : state) : Prop := {
      bounds_sound : whole_sound z entries P (known_bounds st);
      safe_sound : forall n y, find (statuses st) n = Some (IsSafe y) -> 0 <= y < classes /\
        forall G, admissible P G -> forall other, 0 <= other < classes -> other <> y -> zvalue z (after G) n other < zvalue z (after G) n y;
      shared_sound : forall n y share, find (statuses st) n = Some (IsShared y share) -> zpredicted z P classes entries n y /\
        exists s, In ((n, y), s) (stakes st) /\ share = share_of (fst s) /\ share <= ONE;
      stakes_sound : forall s, In s (stakes st) -> exists w, holds_for s w }.

    Lemma nothing_sound : known_sound nothing_known.
    Proof.
      constructor; cbn [nothing_known known_bounds statuses stakes]; [apply no_bounds_sound| | |intros s []];
        intros n; unfold find; rewrite PositiveMap.gempty; discriminate.
    Qed.

    Lemma find_enter st n s more st' n' s' : enter st n s more = Some st' -> find (statuses st') n' = Some s' ->
      (n' = n /\ s' = s) \/ find (statuses st) n' = Some s'.
    Proof.
      unfold enter. destruct (find (statuses st) n); [discriminate|]. intros [= <-]. cbn [statuses]. unfold find.
      destruct (Pos.eq_dec (key n') (key n)) as [K|K].
      - rewrite K, PositiveMap.gss. destruct (Z.eqb_spec n n') as [->|]; [|discriminate]. intros [= <-]. left. auto.
      - rewrite PositiveMap.gso by exact K. right. assumption.
    Qed.

    Lemma take_line_sound st l st' : known_sound st -> take_line t P st l = Some st' -> known_sound st'.
    Proof.
      intros KS. destruct READY as (EN & IN & AW & WA & LIN & SOUND). fold p in SOUND. destruct l as [l|n y scale trees|l]; cbn [take_line]; fold p.
      - destruct (add_line p (known_bounds st) l) as [whole|] eqn:E; [|discriminate]. intros [= <-]. constructor; cbn [known_bounds statuses stakes]; try apply KS.
        exact (add_line_sound z classes P no_rivals entries p SOUND _ l whole (bounds_sound _ KS) E).
      - destruct (robust_holds p P (known_bounds st) n y scale trees) eqn:E; [|discriminate]. intros EE.
        destruct (robust_holds_sound z P classes no_rivals entries p SOUND _ n y scale trees (bounds_sound _ KS) E) as [Hy R].
        pose proof (fun n' s' => find_enter st n (IsSafe y) [] st' n' s' EE) as FE.
        assert (known_bounds st' = known_bounds st /\ stakes st' = stakes st) as [EB ES].
        { unfold enter in EE. destruct (find _ _); [discriminate|]. inversion EE. auto. }
        constructor; rewrite ?EB, ?ES; try apply KS.
        + intros n' y' H. destruct (FE _ _ H) as [[-> Y]|H']; [inversion Y; subst y'|apply KS; exact H']. split; [exact Hy|]. intros G AG other Ho D. apply R; auto using apart_none.
        + intros n' y' share H. destruct (FE _ _ H) as [[_ H']|H']; [discriminate|]. apply (shared_sound _ KS _ _ _ H').
      - destruct (stake_of t P (known_bounds st) l) as [s|] eqn:E; [|discriminate]. intros EE.
        assert (zpredicted z P classes entries (owner l) (reference l) /\ claimed l <= ONE /\ claimed l = share_of (fst s)) as (PR & LE & SH).
        { pose proof E as E'. unfold stake_of in E'. destruct (_ && _) eqn:C in E'; [|discriminate]. apply andb_prop in C as [C C2]. apply andb_prop in C as [_ C1]. apply Z.leb_le in C1.
          split; [apply (is_predicted_spec z P classes no_rivals entries p SOUND); exact C2|]. split; [exact C1|]. destruct (rows_of _ _ _); [|discriminate].
          destruct (sizes_of _ _ _ _); [|discriminate]. destruct (forallb _ _); [|discriminate]. apply some_eq in E'; subst s.
          unfold claimed, share_of, covers_of. cbn [fst by_weight by_size covers]. rewrite zsum_map. reflexivity. }
        pose proof (stake_of_sound _ l s (bounds_sound _ KS) E PR) as ST. set (entry := ((owner l, reference l), s)) in *.
        pose proof (fun n' s' => find_enter st (owner l) (IsShared (reference l) (claimed l)) [entry] st' n' s' EE) as FE.
        assert (known_bounds st' = known_bounds st /\ stakes st' = entry :: stakes st) as [EB ES].
        { unfold enter in EE. destruct (find _ _); [discriminate|]. inversion EE. auto. }
        constructor; rewrite ?EB, ?ES.
        + apply KS.
        + intros n' y' H. destruct (FE _ _ H) as [[_ H']|H']; [discriminate|]. apply KS. exact H'.
        + intros n' y' share H. destruct (FE _ _ H) as [[-> H']|H'].
          * inversion H'; subst. split; [exact PR|]. exists s. split; [left; reflexivity|]. auto.
          * destruct (shared_sound _ KS _ _ _ H') as (H1 & s' & H2 & H3). split; [exact H1|]. exists s'. split; [right; exact H2|exact H3].
        + intros s' [<-|I]; [exact ST|apply KS; exact I].
    Qed.

    Lemma all_taken_sound ls : forall st st', known_sound st -> all_taken t P st ls = Some st' -> known_sound st'.
    Proof.
      induction ls as [|l ls IH]; intros st st' KS H; cbn [all_taken] in H; [inversion H; subst; exact KS|].
      destruct (take_line t P st l) as [st1|] eqn:E; [|discriminate]. exact (IH st1 st' (take_line_sound st l st1 KS E) H).
    Qed.

    Lemma predicted_once n y y' : zpredicted z P classes entries n y -> zpredicted z P classes entries n y' -> y = y'.
    Proof.
      intros [H1 H2] [H3 H4]. destruct (Z.eq_dec y y') as [|D]; [assumption|]. specialize (H2 y' H3 (not_eq_sym D)). specialize (H4 y H1 D). lia.
    Qed.

    Lemma weights_for (l : list ((Z * Z) * (stake * reached))) : (forall s, In s l -> exists w, holds_for s w) ->
      exists all, map fst all = l /\ forall e, In e all -> holds_for (fst e) (snd e).
    Proof.
      induction l as [|s l IH]; intros H; [exists []; split; [reflexivity|intros e []]|]. destruct (H s (or_introl eq_refl)) as (w & W).
      destruct IH as (all & E & A); [intros s' I; apply H; right; exact I|]. exists ((s, w) :: all). split; [cbn [map fst]; rewrite E; reflexivity|].
      intros e [<-|I]; [exact W|auto].
    Qed.

    (* (7), (8) *)
    Lemma claim_sound st part_of nodes counts b prices T : known_sound st -> claim_holds t P st m part_of nodes counts b prices = true -> NoDup T ->
      (forall n, In n T -> 0 <= n < nodes /\ exists y, zpredicted z P classes entries n y /\ counts n y = true /\ ties_or_worse n y) ->
      Z.of_nat (length T) <= b.
    Proof.
      intros KS H ND BROKEN. destruct READY as (EN & IN & AW & WA & LIN & SOUND). fold p in SOUND. pose proof one_positive as OP.
      assert (forall n, 0 <= fst (counted t counts st n) /\ 0 <= snd (counted t counts st n)) as NN.
      { intros n. unfold counted. destruct (find (statuses st) n) as [[y|y share]|] eqn:E; cbn [fst snd]; [destruct (counts n y); lia| |destruct (may_count t counts n); cbn [fst snd]; lia].
        destruct (shared_sound _ KS _ _ _ E) as (_ & s & _ & _ & L). destruct (counts n y); cbn [fst snd]; lia. }
      set (chosen := filter (fun s => counts (fst (fst s)) (snd (fst s))) (stakes st)).
      destruct (weights_for chosen) as (all & EA & HOLD); [intros s I; apply KS; unfold chosen in I; apply filter_In in I; apply I|].
      set (value := fun e : ((Z * Z) * (stake * reached)) * (flip -> Z) => zsum F (fun f => worth_of (fst (snd (fst e))) f (snd e f))).
      assert (forall e, In e all -> 0 <= value e) as VN.
      { intros e I. destruct (HOLD e I) as (G & _ & (W & _) & _). apply zsum_nonneg. intros f _. apply worth_of_nonneg; [exact G|apply W]. }
      assert (forall n, In n T -> fst (counted t counts st n) = 1 /\ (forall y, find (statuses st) n <> Some (IsSafe y)) /\
        ONE * ONE <= snd (counted t counts st n) * ONE + zsum all (fun e => if Z.eqb (fst (fst (fst e))) n then value e else 0)) as EACH.
      { intros n Hn. destruct (BROKEN n Hn) as (_ & y & PR & CO & TW).
        assert (0 <= zsum all (fun e => if Z.eqb (fst (fst (fst e))) n then value e else 0)) as N0 by (apply zsum_nonneg; intros e I; destruct (Z.eqb _ _); [apply VN; exact I|lia]).
        unfold counted. destruct (find (statuses st) n) as [[y0|y' share]|] eqn:E.
        - exfalso. destruct (safe_sound _ KS n y0 E) as [H0 S]. destruct TW as (other & Ho & D & L).
          assert (admissible P []) as A0.
          { destruct ATTACK as [(_ & _ & Q & _) _]. split; [constructor|]. split; [intros f []|]. split; [unfold size in *; cbn; lia|intros f []]. }
          assert (y = y0) as ->.
          { destruct (Z.eq_dec y y0) as [|D0]; [assumption|]. exfalso. specialize (S [] A0 y (proj1 PR) D0). destruct PR as [_ PR]. specialize (PR y0 H0 (not_eq_sym D0)). unfold after in *. lia. }
          specialize (S F (proj1 ATTACK) other Ho D). lia.
        - destruct (shared_sound _ KS n y' share E) as (PR' & s & I & ES & LS). rewrite (predicted_once n y' y PR' PR) in *. rewrite CO. cbn [fst snd]. split; [reflexivity|]. split; [congruence|].
          assert (In ((n, y), s) chosen) as IC by (unfold chosen; apply filter_In; split; [exact I|exact CO]).
          rewrite <- EA in IC. apply in_map_iff in IC as ([s' w] & Es & IC). cbn [fst] in Es. subst s'.
          destruct (HOLD _ IC) as (_ & _ & _ & V). cbn [fst snd] in V. specialize (V TW).
          assert (share * ONE <= zsum all (fun e => if Z.eqb (fst (fst (fst e))) n then value e else 0)); [|lia].
          rewrite ES. etransitivity; [exact V|]. etransitivity; [|apply (zsum_mem all (fun e => if Z.eqb (fst (fst (fst e))) n then value e else 0) _ IC); intros e Ie; destruct (Z.eqb _ _); [apply VN; exact Ie|lia]].
          cbn [fst snd]. rewrite Z.eqb_refl. unfold value. cbn [fst snd]. lia.
        - assert (may_count t counts n = true) as ->; [|cbn [fst snd]; split; [reflexivity|]; split; [congruence|lia]]. unfold may_count. fold p. rewrite (same_classes _ _ _ _ _ _ SOUND).
          assert (In y (ids classes)) as Iy by (apply ids_in; apply PR).
          apply orb_true_intro. right. apply andb_true_intro. split; [apply existsb_exists; exists y; auto|]. cbn zeta. apply existsb_exists. exists y. split; [exact Iy|].
          rewrite CO. apply (is_predicted_spec z P classes no_rivals entries p SOUND) in PR. exact PR. }
      assert (forall f, (forall n, 0 <= f n) -> zsum T f <= zsum (ids nodes) f) as SUB.
      { intros f Hf. apply zsum_incl; [exact ND| |auto]. intros n Hn. apply ids_in. apply (BROKEN n Hn). }
      unfold claim_holds in H. cbv zeta in H. fold chosen in H. apply orb_prop in H as [H|H]; [apply orb_prop in H as [H|H]|].
      - apply Z.leb_le in H. rewrite zsum_map in H. cbn [fst snd] in H. etransitivity; [|exact H]. rewrite size_sum. etransitivity; [|apply SUB; intros n; apply NN].
        apply zsum_le_in. intros n Hn. destruct (EACH n Hn) as [E _]. lia.
      - destruct m; [discriminate|]. destruct part_of as [part_of|]; [|discriminate].
        unfold most_in_parts in H. cbv zeta in H. rewrite AW in H. set (of_nodes := map (at_stake st) _) in H.
        set (lines := map (fun e : ((Z * Z) * (stake * reached)) * (flip -> Z) => ((fst (fst (fst e)), snd (fst e)), snd e)) all).
        assert (map (fun s : (Z * Z) * (stake * reached) => (fst (fst s), snd s)) chosen = map fst lines) as EL by (unfold lines; rewrite <- EA, !map_map; reflexivity).
        rewrite EL in H. clear EL. set (rows := by_row _) in H.
        destruct (_ && _) eqn:C in H; [|discriminate]. apply andb_prop in C as [C OWN]. apply andb_prop in C as [C SORTED]. apply andb_prop in C as [C PN]. apply andb_prop in C as [ASC GRP].
        apply Z.leb_le in H, PN. apply ascending_nodup in ASC. rewrite map_map in GRP. cbn [snd] in GRP. rewrite map_id in GRP. apply ascending_nodup in GRP.
        rewrite forallb_forall in OWN, SORTED. etransitivity; [|exact H]. clear H. rewrite map_map. cbn [fst snd].
        assert (forall e, In e of_nodes -> e = at_stake st (fst e, counted t counts st (fst e))) as ON.
        { intros e I. unfold of_nodes in I. rewrite map_map in I. apply in_map_iff in I as (n & <- & I). reflexivity. }
        apply (in_parts_sound P first width part_of (every prices) of_nodes lines) with (F := F); [|exact ASC|exact PN| |exact (proj1 ATTACK)|exact GRP| | | |].
        + intros e I. unfold lines in I. apply in_map_iff in I as (e' & <- & I). cbn [fst snd]. destruct (HOLD e' I) as (H1 & H2 & H3 & _). auto.
        + intros e r I J. apply Z.eqb_eq. pose proof (OWN (fst e) (in_map fst lines e I)) as O. rewrite forallb_forall in O. exact (O r J).
        + intros g I. exact (SORTED (largest_first (flat_map above (snd g)), g) (in_map (fun g => (largest_first (flat_map above (snd g)), g)) _ g I)).
        + unfold of_nodes. rewrite !map_map. cbn [at_stake fst]. rewrite map_id. apply ids_nodup.
        + intros e I. rewrite (ON e I). specialize (NN (fst e)). cbn [at_stake fst snd]. destruct (find _ _) as [[|]|]; cbn [fst snd]; nia.
        + split; [exact ND|]. intros n Hn. destruct (EACH n Hn) as (E1 & E2 & E3). exists (at_stake st (n, counted t counts st n)). split; [|split; [reflexivity|]].
          * unfold of_nodes. apply in_map, (in_map (fun n => (n, counted t counts st n))), ids_in, BROKEN. exact Hn.
          * unfold lines. rewrite zsum_map. cbn [at_stake fst snd]. destruct (find (statuses st) n) as [[y|y share]|]; [destruct (E2 y eq_refl)| |]; cbn [fst snd];
              (split; [lia|exact E3]).
      - destruct (most_worth _ _ _ _ _) as [most|] eqn:EM; [|discriminate]. apply Z.ltb_lt in H. rewrite zsum_map in H. cbn [fst snd] in H. rewrite AW in EM.
        set (pairs := map (fun e : ((Z * Z) * (stake * reached)) * (flip -> Z) => (snd (fst e), snd e)) all).
        assert (map snd chosen = map fst pairs) as EP by (unfold pairs; rewrite <- EA, !map_map; reflexivity). rewrite EP in EM.
        assert (zsum F (worth_of_flip pairs) <= most) as MS.
        { apply (most_worth_sound P first width pairs) with (m := m) (p := prices); [| |exact ATTACK|exact EM].
          - intros e I. unfold pairs in I. apply in_map_iff in I as (e' & <- & I). cbn [fst snd]. destruct (HOLD e' I) as (H1 & H2 & H3 & _). auto.
          - apply ascending_nodup. unfold most_worth in EM. destruct (ascending _); [reflexivity|discriminate]. }
        assert (zsum F (worth_of_flip pairs) = zsum all value) as EV.
        { unfold worth_of_flip, value. rewrite zsum_swap. unfold pairs. rewrite zsum_map. reflexivity. }
        assert (Z.of_nat (length T) * (ONE * ONE) <= zsum (ids nodes) (fun n => snd (counted t counts st n)) * ONE + zsum all value) as ALL.
        { rewrite size_sum, <- zsum_scale_r.
          apply Z.le_trans with (zsum T (fun n => snd (counted t counts st n) * ONE) + zsum T (fun n => zsum all (fun e => if Z.eqb (fst (fst (fst e))) n then value e else 0))).
          - rewrite <- zsum_plus. apply zsum_le_in. intros n Hn. destruct (EACH n Hn) as (_ & _ & E). lia.
          - apply Z.add_le_mono.
            + rewrite zsum_scale_r. apply Z.mul_le_mono_nonneg_r; [lia|]. apply SUB. intros n. apply NN.
            + rewrite zsum_swap. apply zsum_le_in. intros e I. destruct (in_dec Z.eq_dec (fst (fst (fst e))) T) as [J|J].
              * rewrite (zsum_ext T _ (fun n => if Z.eqb n (fst (fst (fst e))) then value e else 0)) by (intros n; rewrite Z.eqb_sym; reflexivity).
                rewrite (zsum_only T (fst (fst (fst e))) (fun _ => value e) ND J). lia.
              * rewrite zsum_zero; [apply VN; exact I|]. intros n Hn. destruct (Z.eqb_spec (fst (fst (fst e))) n) as [En|]; [subst; contradiction|reflexivity]. }
        assert (Z.of_nat (length T) * (ONE * ONE) < (b + 1) * (ONE * ONE)) as LT by lia.
        apply Z.mul_lt_mono_pos_r in LT; [lia|]. apply Z.mul_pos_pos; exact OP.
    Qed.
  End OneAttack.
End Collective.

(* The last word: what the program says of integers that are those of a network of floats is true of that network. *)
Theorem collective (s : Z) (bits z : network Z) (P : problem) (classes : Z) (t : tools) (lines : list collective_line) (st : state)
    (most : option Z) (part_of : option (Z -> Z)) (nodes : Z) (counts : Z -> Z -> bool) (bound : Z) (prices : prices) :
  integers_of 0 s bits z ->
  prepare_collective z classes P = Some t ->
  all_taken t P nothing_known lines = Some st ->
  claim_holds t P st most part_of nodes counts bound prices = true ->
  breaks_at_most (rational bits) P most classes nodes counts bound.
Proof.
  intros I HP HL HC F T A ND B. destruct (integers_scaled 0 s bits z I) as (k & _ & S). destruct (prepared_ready z classes P t HP) as (first & width & READY).
  pose proof (all_taken_sound z classes P t first width READY most F A lines nothing_known st (nothing_sound z classes P first width F) HL) as KS.
  apply (claim_sound z classes P t first width READY most F A st part_of nodes counts bound prices T KS HC ND).
  intros n Hn. destruct (B n Hn) as [Hn' (y & other & [Hy PR] & CO & Ho & D & L)]. split; [exact Hn'|]. exists y. split; [|split; [exact CO|]].
  - split; [exact Hy|]. intros o Ho' Do. specialize (PR o Ho' Do).
    pose proof (scaled_lt k (rational bits) z (attributes P) n o y S) as LT. pose proof (scaled_lt k (rational bits) z (attributes P) n y o S) as GT.
    rewrite !(zvalue_ext z (entries (flipped (attributes P) [])) (entries (attributes P)) ltac:(intros; reflexivity)).
    destruct PR as [PR|[PR PR2]]; [left; apply LT; exact PR|right]. split; [|exact PR2].
    destruct (Z.lt_trichotomy (zvalue z (entries (attributes P)) n o) (zvalue z (entries (attributes P)) n y)) as [C|[C|C]]; [|exact C|];
      [apply LT in C|apply GT in C]; rewrite PR in C; apply Qlt_irrefl in C; destruct C.
  - exists other. split; [exact Ho|]. split; [exact D|]. apply Z.le_ngt. intros C. apply (scaled_lt k (rational bits) z _ n other y S) in C. apply Qlt_not_le in C. contradiction.
Qed.

Print Assumptions collective.
