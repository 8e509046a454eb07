(* Rules 1, 2, 4 and 5 as the checker applies them to one unit of layer 2. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward.
Import ListNotations.
Open Scope Z_scope.

Lemma rises_above a l : rises (a :: l) = true -> forall b, In b l -> fst a <= fst b.
Proof.
  revert a. induction l as [|c l IH]; intros a H b I; [destruct I|]. cbn [rises] in H. apply andb_prop in H as [H1 H2].
  apply Z.leb_le in H1. destruct I as [->|I]; [assumption|]. specialize (IH c H2 b I). lia.
Qed.

Lemma rises_tail a l : rises (a :: l) = true -> rises l = true.
Proof. destruct l; [reflexivity|]. cbn [rises]. intros H. apply andb_prop in H as [_ H]. exact H. Qed.

Lemma capped_le cap x : capped cap x <= x.
Proof. destruct cap; cbn [capped]; lia. Qed.

Definition amount_of (P : problem) cap n price (present : bool) (x d : Z) : Z :=
  if Bool.eqb (attributes P n d) present && free P n d then pos (capped cap (pos x) - price) else 0.

Lemma walk_sound P cap n b price present l :
  b <= 0 -> 0 <= price -> rises l = true ->
  zsum l (fun p => amount_of P cap n price present (b * fst p) (snd p)) <= walk P cap n b price present l.
Proof.
  intros B NN. induction l as [|[w d] l IH]; intros R; [reflexivity|]. cbn [walk]. destruct (Z.leb_spec (b * w) price) as [L|L].
  - rewrite zsum_zero; [reflexivity|]. intros p Hp. unfold amount_of.
    assert (b * fst p <= b * w).
    { destruct Hp as [<-|Hp]; [reflexivity|]. pose proof (rises_above _ _ R p Hp) as K. cbn [fst] in K. nia. }
    destruct (Bool.eqb _ _ && free P n (snd p)); [|reflexivity]. pose proof (capped_le cap (pos (b * fst p))). unfold pos in *. lia.
  - rewrite zsum_cons. cbn [fst snd]. specialize (IH (rises_tail _ _ R)).
    assert (amount_of P cap n price present (b * w) d <= if Bool.eqb (attributes P n d) present && free P n d then pos (capped cap (b * w) - price) else 0); [|lia].
    unfold amount_of. replace (pos (b * w)) with (b * w) by (unfold pos; lia). lia.
Qed.

Lemma column_of_spec t over j c : column_over t over j = Some c ->
  rises (rising c) = true /\ rises (turned c) = true /\
  Permutation (rising c) (map (fun d => (weight t d j, d)) over) /\
  Permutation (turned c) (map (fun d => (- weight t d j, d)) over).
Proof.
  unfold column_over. set (up := sort _). destruct (rises up && rises _) eqn:E; [|discriminate]. intros [= <-]. cbn [rising turned].
  apply andb_prop in E as [E1 E2]. assert (Permutation up (map (fun d => (weight t d j, d)) over)) as S by apply sort_perm.
  repeat split; auto. rewrite rev_append_rev, app_nil_r, <- Permutation_rev. rewrite S, map_map. reflexivity.
Qed.

Lemma walk_signed_sound P cap n b price present t size j c :
  0 <= price -> column_of t size j = Some c ->
  zsum (ids size) (fun d => amount_of P cap n price present (b * weight t d j) d) <= walk_signed P cap n b price present c.
Proof.
  intros NN C. apply column_of_spec in C as (R1 & R2 & P1 & P2). unfold walk_signed. destruct (Z.leb_spec b 0).
  - etransitivity; [|apply walk_sound; auto]. rewrite (zsum_perm _ _ _ P1), zsum_map. reflexivity.
  - etransitivity; [|apply walk_sound; auto; lia]. rewrite (zsum_perm _ _ _ P2), zsum_map. cbn [fst snd].
    apply Z.eq_le_incl, zsum_ext. intros d. f_equal. lia.
Qed.

(* Without a cap it is no more than that. *)
Lemma walk_exact P n b price present l : b <= 0 -> 0 <= price -> rises l = true ->
  walk P None n b price present l = zsum l (fun p => amount_of P None n price present (b * fst p) (snd p)).
Proof.
  intros B NN. induction l as [|[w d] l IH]; intros R; [reflexivity|]. cbn [walk]. destruct (Z.leb_spec (b * w) price) as [L|L].
  - symmetry. apply zsum_zero. intros p Hp. unfold amount_of.
    assert (b * fst p <= b * w).
    { destruct Hp as [<-|Hp]; [reflexivity|]. pose proof (rises_above _ _ R p Hp) as K. cbn [fst] in K. nia. }
    destruct (Bool.eqb _ _ && free P n (snd p)); [|reflexivity]. cbn [capped]. unfold pos in *. lia.
  - rewrite zsum_cons. cbn [fst snd]. rewrite (IH (rises_tail _ _ R)). f_equal.
    unfold amount_of. replace (pos (b * w)) with (b * w) by (unfold pos; lia). reflexivity.
Qed.

Lemma walk_signed_exact P n b price present t over j c : 0 <= price -> column_over t over j = Some c ->
  walk_signed P None n b price present c = zsum over (fun d => amount_of P None n price present (b * weight t d j) d).
Proof.
  intros NN C. apply column_of_spec in C as (R1 & R2 & P1 & P2). unfold walk_signed. destruct (Z.leb_spec b 0).
  - rewrite walk_exact by auto. rewrite (zsum_perm _ _ _ P1), zsum_map. reflexivity.
  - rewrite walk_exact by (auto; lia). rewrite (zsum_perm _ _ _ P2), zsum_map. cbn [fst snd].
    apply zsum_ext. intros d. f_equal. lia.
Qed.

Lemma numbered_once {B} (us : list Z) (ts : list B) q t t' : NoDup us -> In (q, t) (combine us ts) -> In (q, t') (combine us ts) -> t = t'.
Proof.
  revert ts. induction us as [|u us IH]; intros [|b ts] ND I I'; cbn [combine In] in *; try contradiction. inversion ND as [|? ? NI ND']; subst.
  destruct I as [[= -> ->]|I], I' as [[= E]|I']; auto.
  - destruct NI. exact (in_combine_l _ _ _ _ I').
  - subst. destruct NI. exact (in_combine_l _ _ _ _ I).
  - exact (IH ts ND' I I').
Qed.

(* Columns of the attributes that rows have are as good as those of all. *)
Lemma select_here_same P width first m s here j p : (forall n, here n = columns_here P first n) ->
  let rows := links (all_ready (count P) width first) m in select_here P s here rows j p = select P s None rows j p.
Proof.
  intros H rows. unfold select_here, select. destruct (not_negative p) eqn:NN; [|reflexivity]. f_equal. f_equal. apply zsum_ext_in. intros [n grp] I. unfold above_here.
  destruct (Z.leb (left P n) 0) eqn:L; [unfold above; rewrite L; reflexivity|]. destruct grp as [|[t a] [|]]; try reflexivity. destruct (get (columns t) j) as [c|] eqn:C; [|reflexivity].
  destruct (column_here here n (number t) j) as [own|] eqn:OWN; [|reflexivity].
  unfold above. rewrite L, C. cbv zeta. f_equal. assert (In t (all_ready (count P) width first)) as T by (apply (links_ready _ m n [(t, a)] t a); [exact I|left; reflexivity]).
  unfold all_ready in T. apply in_map_iff in T as ([q t0] & <- & T). cbn [columns source number make_ready fst snd] in *. rewrite get_tabulate in C.
  unfold column_here in OWN. rewrite H in OWN. destruct (List.find _ _) as [[q' tab]|] eqn:F; [|discriminate]. apply find_some in F as [F E]. cbn [fst snd] in *. apply Z.eqb_eq in E. subst q'.
  unfold columns_here in F. cbv zeta in F. apply in_map_iff in F as ([q' t'] & [= -> <-] & F). cbn [fst snd] in OWN. rewrite get_tabulate in OWN.
  rewrite (numbered_once _ _ q t' t0 (ids_nodup _) F T) in OWN. clear F.
  pose proof (price_of_nonneg p n NN) as N0. rewrite (walk_signed_exact P n _ _ true t0 _ j own N0 OWN), (walk_signed_exact P n _ _ true t0 _ j c N0 C).
  rewrite zsum_filter. apply zsum_ext. intros d. unfold amount_of. destruct (attributes P n d); reflexivity.
Qed.

(* What is known of layer 2 is right: the rows, the pre-activations, and the most by which flips change them, at some prices. *)
Record knows (P : problem) (first : layer Z) (width : Z) (l2 : layer2) : Prop := {
  knows_links : forall n, linked l2 n = links (all_ready (count P) width first) n;
  knows_rest : forall n, at_rest l2 n = map (zpre [first] (attributes P) n) (ids width);
  knows_ranges : exists up down : list (Z * list (ready * Z)) -> Z -> prices, forall n, ranges l2 n = map (fun j => let rows := links (all_ready (count P) width first) n in
    (zpre [first] (attributes P) n j, (select P 1 None rows j (up rows j), select P (-1) None rows j (down rows j)))) (ids width);
  knows_grain : 0 < grain l2;
  knows_rough : forall d, rough l2 d = map (map (fun w => w / grain l2)) (map (fun t => map (weight (snd t) d) (ids width)) (numbered first)) }.

Lemma layer2_knows P first width grain : knows P first width
  (layer2_of P first width (fixed_of first width grain (all_ready (count P) width first)) (sent_from first width (plain_rows (attributes P)))).
Proof.
  assert (forall n, receive width first (sent_from first width (plain_rows (attributes P))) n = map (zpre [first] (attributes P) n) (ids width)) as R
    by (intros n; apply first_spec, sent_from_spec, plain_reads).
  unfold layer2_of, fixed_of. constructor; cbn [linked at_rest ranges Steps.grain rough joined grained roughly]; [intros n|intros n| |lia|intros d];
    rewrite ?get_tabulate; [reflexivity|apply R| |].
  - set (here := get (tabulate (columns_here P first))). exists (best_prices P 1 here), (best_prices P (-1) here).
    intros n. rewrite get_tabulate. cbn zeta. rewrite !get_tabulate, R. clear R. induction (ids width) as [|j r IH]; [reflexivity|]. cbn [map combine fst snd].
    rewrite IH, !select_here_same by (intros k; unfold here; rewrite get_tabulate; reflexivity). reflexivity.
  - rewrite map_map. apply map_ext. intros t. rewrite map_map. reflexivity.
Qed.

(* At whatever prices, a range is what selection says of them. *)
Lemma range_at_some P h rows m j up down : exists up' down',
  range_at P h rows m j (select P 1 None rows j up, select P (-1) None rows j down) = (select P 1 None rows j up', select P (-1) None rows j down').
Proof. unfold range_at. destruct (reach h m j) as [[a b]|]; eauto. Qed.

Definition flip_dec (a b : flip) : {a = b} + {a <> b}.
Proof. unfold flip in *. decide equality; apply Z.eq_dec. Defined.

Section OneUnit.
  Variables (P : problem) (F : list flip) (width : Z) (first : layer Z) (m : Z).
  Hypothesis A : admissible P F.
  Let made := all_ready (count P) width first.
  Let rows := links made m.
  Hypothesis ASC : ascending rows = true.
  Let g j := links_effect (attributes P) rows j.

  Lemma above_sound s cap j p n grp : not_negative p = true -> In (n, grp) rows ->
    excess P (fun d => capped cap (pos (s * g j (n, d)))) n (price_of p n) <= above P s cap j p (n, grp).
  Proof.
    intros NN I. pose proof (ascending_nodup _ ASC) as ND. cbn [above].
    assert (excess P (fun d => capped cap (pos (s * g j (n, d)))) n (price_of p n) =
            excess P (fun d => capped cap (pos (s * (change (attributes P) n d * weights grp j d)))) n (price_of p n)) as ->.
    { unfold excess. apply zsum_ext. intros d. unfold g. rewrite (links_effect_row _ _ _ _ _ grp ND I). reflexivity. }
    destruct (Z.leb_spec (left P n) 0) as [L|L].
    - unfold excess. rewrite zsum_zero; [reflexivity|]. intros d _. unfold free. destruct (Z.ltb_spec 0 (left P n)); [lia|reflexivity].
    - destruct grp as [|[t a] [|]]; try reflexivity. destruct (get (columns t) j) as [c|] eqn:C; [|reflexivity].
      assert (In t made) as T by (apply (links_ready made m n [(t, a)] t a); [exact I|left; reflexivity]).
      apply in_map_iff in T as ([q t0] & <- & _). cbn [columns make_ready snd] in C. rewrite get_tabulate in C.
      pose proof (price_of_nonneg p n NN) as NP.
      pose proof (walk_signed_sound P cap n (s * a) (price_of p n) false t0 (count P) j c NP C) as W1.
      pose proof (walk_signed_sound P cap n (- (s * a)) (price_of p n) true t0 (count P) j c NP C) as W2.
      etransitivity; [|apply Z.add_le_mono; [exact W1|exact W2]]. rewrite <- zsum_plus. unfold excess.
      apply zsum_le_in. intros d _. unfold amount_of, weights, change. rewrite zsum_cons, zsum_nil. cbn [fst snd source make_ready].
      destruct (attributes P n d); cbn [Bool.eqb andb]; destruct (free P n d); cbn [andb]; try lia.
      + replace (s * (-1 * (a * weight t0 d j + 0))) with (- (s * a) * weight t0 d j) by ring. lia.
      + replace (s * (1 * (a * weight t0 d j + 0))) with (s * a * weight t0 d j) by ring. lia.
  Qed.

  Lemma select_sound s cap j p total : select P s cap rows j p = Got total -> zsum F (fun f => capped cap (pos (s * g j f))) <= total.
  Proof.
    unfold select. destruct (not_negative p) eqn:NN; [|discriminate]. intros [= <-].
    etransitivity; [apply (selection P F p (fun f => capped cap (pos (s * g j f))) (map fst rows) A NN)|].
    - intros n d _ NI. unfold g. rewrite links_effect_no_row by assumption. pose proof (price_of_nonneg p n NN).
      replace (s * 0) with 0 by lia. pose proof (capped_le cap (pos 0)). unfold pos in *. cbn in *. lia.
    - rewrite zsum_map. apply Z.add_le_mono_l. apply zsum_le_in. intros [n grp] I. cbn [fst]. apply above_sound; assumption.
  Qed.

  Lemma offered_sound o : sound_offer o = true -> zsum F (offered o) <= offers_paid P o.
  Proof.
    unfold sound_offer. intros H. apply andb_prop in H as [H1 H2]. unfold offered, offers_paid. rewrite zsum_plus.
    apply Z.add_le_mono; [apply sum_of_prices; assumption|]. rewrite zsum_swap. apply zsum_le_in. intros e He.
    rewrite forallb_forall in H2. specialize (H2 e He). apply Z.leb_le in H2.
    destruct (in_dec flip_dec (fst e) F) as [I|NI].
    - destruct (made_is_free P F _ A I) as [-> _]. destruct A as (ND & _). clear - ND H2 I.
      induction F as [|f r IH]; [destruct I|]. inversion ND as [|? ? NI ND']; subst. rewrite zsum_cons.
      destruct (same (fst e) f) eqn:E.
      + apply same_spec in E. subst f. rewrite zsum_zero; [lia|]. intros x Hx. destruct (same (fst e) x) eqn:Ex; auto.
        apply same_spec in Ex. subst. contradiction.
      + destruct I as [->|I]; [|specialize (IH I ND'); lia]. assert (same (fst e) (fst e) = true) by (apply same_spec; reflexivity). congruence.
    - rewrite zsum_zero; [destruct (free P _ _); lia|]. intros f Hf. destruct (same (fst e) f) eqn:E; auto. apply same_spec in E. subst. contradiction.
  Qed.

  Lemma offered_nonneg o f : sound_offer o = true -> 0 <= offered o f.
  Proof.
    unfold sound_offer. intros H. apply andb_prop in H as [H1 H2]. unfold offered. pose proof (price_of_nonneg (common o) (fst f) H1).
    assert (0 <= zsum (own o) (fun e => if same (fst e) f then snd e else 0)); [|lia]. apply zsum_nonneg. intros e He.
    rewrite forallb_forall in H2. specialize (H2 e He). apply Z.leb_le in H2. destruct (same (fst e) f); lia.
  Qed.

  (* A charge never makes a flip lose that changes nothing. *)
  Definition proper_bend (b : Z * charge) : Prop := 0 <= fst b /\ forall f g, charged (snd b) f g <= pos g.
  Definition proper (u : unit2) : Prop := forall b, In b (bent u) -> proper_bend b.

  Lemma resolve_sound j z b v c : resolve P rows j z b = Got (v, c) ->
    proper_bend c /\ fst c * pos (z + zsum F (g j)) <= v + zsum F (fun f => fst c * charged (snd c) f (g j f)).
  Proof.
    unfold resolve. destruct (Z.leb_spec 0 (share b)) as [S|]; [|discriminate]. destruct (shape b) as [t p|up down].
    - destruct (Z.leb_spec 0 t) as [T|]; [|discriminate]. destruct (Z.ltb z 0).
      + intros H. apply bind_got in H as (s & H & [= <- <-]). apply select_sound in H. cbn [fst snd]. split.
        * split; [assumption|]. intros f x. cbn [snd charged]. unfold pos. lia.
        * rewrite zsum_scale. cbn [charged capped] in *.
          pose proof (bend_sound F z (g j) (fun f => Z.min (pos (g j f)) t) (fun _ => 0) s 0) as B.
          rewrite (zsum_ext F (fun f => Z.min (pos (1 * g j f)) t) (fun f => Z.min (pos (g j f)) t)) in H by (intros; f_equal; f_equal; lia).
          specialize (B H). rewrite zsum_zero in B by reflexivity. specialize (B (Z.le_refl 0)). cbn in B. nia.
      + intros H. apply bind_got in H as (s & H & [= <- <-]). apply select_sound in H. cbn [fst snd]. split.
        * split; [assumption|]. intros f x. cbn [snd charged]. unfold pos. lia.
        * rewrite zsum_scale. cbn [charged capped] in *.
          pose proof (bend_sound F z (g j) (fun _ => 0) (fun f => Z.min (pos (- g j f)) t) 0 s) as B.
          rewrite (zsum_ext F (fun f => Z.min (pos (-1 * g j f)) t) (fun f => Z.min (pos (- g j f)) t)) in H by (intros; f_equal; f_equal; lia).
          rewrite zsum_zero in B by reflexivity. specialize (B (Z.le_refl 0) H). cbn in B.
          rewrite (zsum_ext F (fun i => Z.max (g j i - 0) (- Z.min (pos (- g j i)) t)) (fun f => Z.max (g j f) (- Z.min (pos (- g j f)) t))) in B
            by (intros; f_equal; lia).
          rewrite Z.add_0_r in B. nia.
    - destruct (sound_offer up && sound_offer down) eqn:E; [|discriminate]. apply andb_prop in E as [E1 E2]. intros [= <- <-]. cbn [fst snd].
      split.
      + split; [assumption|]. intros f x. cbn [snd charged]. pose proof (offered_nonneg up f E1). pose proof (offered_nonneg down f E2). unfold pos. lia.
      + rewrite zsum_scale. cbn [charged].
        pose proof (bend_sound F z (g j) (offered up) (offered down) _ _ (offered_sound up E1) (offered_sound down E2)). nia.
  Qed.

  (* The unit's contribution to the objective is at least its constant less the losses of the flips made. *)
  Lemma unit_bound_sound h side j k z up down :
    let after := z + zsum F (g j) in
    counts side after = true ->
    match unit_bound P h first rows side m j k z (select P 1 None rows j up, select P (-1) None rows j down) with
    | Got (c, u) => place u = j /\ proper u /\ c - zsum F (fun f => loss u f (g j f)) <= k * (if relu first j then pos after else after)
    | Impossible => False
    | Failed => True
    end.
  Proof.
    intros after S. unfold unit_bound. destruct (relu first j).
    - destruct (each_one _ _) as [bs| |] eqn:E; cbn [bind]; auto.
      2: { apply each_one_impossible in E as (b & _ & E). unfold resolve in E. destruct (Z.leb 0 (share b)); [|discriminate].
           destruct (shape b); repeat (match type of E with (if ?c then _ else _) = _ => destruct c | bind ?r _ = _ => unfold select in E; destruct (not_negative p); cbn in E end; try discriminate). }
      cbn [fst snd]. destruct (select P 1 None rows j up) as [U| |] eqn:EU; cbn [bind]; auto.
      2: { unfold select in EU. destruct (not_negative _); discriminate. }
      destruct (select P (-1) None rows j down) as [V| |] eqn:EV; cbn [bind]; auto.
      2: { unfold select in EV. destruct (not_negative _); discriminate. }
      destruct (line h m j) as [r f0]. apply select_sound in EU, EV. cbn [capped] in EU, EV.
      set (u := zsum F (fun f => pos (g j f))). set (v := zsum F (fun f => pos (- g j f))).
      assert (0 <= u <= U) as HU.
      { split; [apply zsum_nonneg; intros; unfold pos; lia|]. etransitivity; [|exact EU]. apply Z.eq_le_incl, zsum_ext. intros. f_equal; lia. }
      assert (0 <= v <= V) as HV.
      { split; [apply zsum_nonneg; intros; unfold pos; lia|]. etransitivity; [|exact EV]. apply Z.eq_le_incl, zsum_ext. intros. f_equal; lia. }
      assert (after = z + u - v) as EA.
      { unfold after, u, v. assert (zsum F (g j) = zsum F (fun f => pos (g j f)) + zsum F (fun f => - pos (- g j f))) as ->.
        - rewrite <- zsum_plus. apply zsum_ext. intros. unfold pos. lia.
        - rewrite zsum_opp. lia. }
      assert (counts side (z + u - v) = true) as S' by (rewrite <- EA; exact S).
      destruct (least_sound (k + zsum bs (fun b => fst (snd b))) z r f0 U V side u v HU HV S') as (base & -> & L).
      rewrite <- EA in L. cbn [place]. apply each_one_got in E.
      assert (forall b, In b bs -> proper_bend (snd b) /\ fst (snd b) * pos after <= fst b + zsum F (fun f => fst (snd b) * charged (snd (snd b)) f (g j f))) as BS.
      { clear - E A ASC. intros [v c] I. induction E as [|x y l l' E0 E IH]; [destruct I|]. destruct I as [->|I]; [|auto].
        apply resolve_sound in E0. exact E0. }
      split; [reflexivity|]. split.
      { intros b I. cbn [bent] in I. apply in_map_iff in I as (x & <- & I). apply (proj1 (BS x I)). }
      unfold loss. cbn [rise fall bent].
      assert (zsum bs (fun b => fst (snd b)) * pos after <= zsum bs fst + zsum F (fun f => zsum (map snd bs) (fun b => fst b * charged (snd b) f (g j f)))) as K.
      { rewrite (zsum_ext F _ (fun f => zsum bs (fun b => fst (snd b) * charged (snd (snd b)) f (g j f)))) by (intros f; apply zsum_map).
        rewrite zsum_swap, <- zsum_plus, <- zsum_scale_r. apply zsum_le_in. intros b I. apply (proj2 (BS b I)). }
      rewrite (zsum_plus F (fun f => f0 * pos (- g j f) - r * pos (g j f))).
      assert (zsum F (fun f => f0 * pos (- g j f) - r * pos (g j f)) = f0 * v - r * u) as ->.
      { rewrite (zsum_ext F _ (fun f => f0 * pos (- g j f) + (- r) * pos (g j f))) by (intros; lia).
        rewrite zsum_plus, !zsum_scale. unfold u, v. lia. }
      nia.
    - cbn [place]. split; [reflexivity|]. split; [intros b []|]. unfold loss. cbn [rise fall bent].
      assert (zsum F (fun f => k * pos (- g j f) - k * pos (g j f) + zsum [] (fun b : Z * charge => fst b * charged (snd b) f (g j f))) = - (k * zsum F (g j))) as ->.
      { rewrite <- zsum_scale, <- zsum_opp. apply zsum_ext. intros f. rewrite zsum_nil. assert (g j f = pos (g j f) - pos (- g j f)) as E by (unfold pos; lia). rewrite E at 3. ring. }
      unfold after. lia.
  Qed.
End OneUnit.
