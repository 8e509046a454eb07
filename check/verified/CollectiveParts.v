(* Rounding down in each part of the graph (8): the flips of a part are worth no more than the largest numbers that are listed of it. *)
From Coq Require Import ZArith List Bool Lia.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units Rows Leaf Losses Trees Sound Parts Collective CollectiveWorth.
Import ListNotations.
Open Scope Z_scope.

Section InParts.
  Variables (P : problem) (first : layer Z) (width : Z) (part_of : Z -> Z) (price : Z) (of_nodes : list (Z * (Z * Z))).
  (* Share lines by node, with weights. *)
  Variable all : list ((Z * (stake * reached)) * (flip -> Z)).
  Let pairs := map (fun e => (snd (fst e), snd e)) all.
  Let rows := by_row (map snd (map fst all)).
  Let weights := attribute_rows (count P) width first.
  Hypothesis GOOD : forall e, In e all -> good_stake (fst (snd (fst e))) /\ NoDup (map fst (snd (snd (fst e)))) /\ weighs P first width (snd (snd (fst e))) (snd e).
  Hypothesis DISTINCT : NoDup (map fst rows).
  Hypothesis PRICE : 0 <= price.
  Hypothesis OWN : forall e r, In e all -> In r (snd (snd (fst e))) -> part_of (fst r) = part_of (fst (fst e)).
  Variables (F : list flip) (T : list Z).
  Hypothesis ADMISSIBLE : admissible P F.

  Let same_rows : rows = by_row (map fst pairs).
  Proof. unfold rows, pairs. rewrite !map_map. reflexivity. Qed.

  Lemma pairs_good e : In e pairs -> good_stake (fst (fst e)) /\ NoDup (map fst (snd (fst e))) /\ weighs P first width (snd (fst e)) (snd e).
  Proof. unfold pairs. intros I. apply in_map_iff in I as (e' & <- & I). apply (GOOD e' I). Qed.

  Lemma pairs_distinct : NoDup (map fst (by_row (map fst pairs))).
  Proof. rewrite <- same_rows. exact DISTINCT. Qed.

  (* What a share line is worth after the attack. *)
  Definition value (e : (Z * (stake * reached)) * (flip -> Z)) : Z := zsum F (fun f => worth_of (fst (snd (fst e))) f (snd e f)).
  Definition worth_in_all : flip -> Z := worth_of_flip pairs.

  (* The flips that share lines of a part depend on. *)
  Definition known_row (n : Z) : bool := existsb (Z.eqb n) (map fst rows).
  Definition flips_in (k : Z) : list flip := filter (fun f => known_row (fst f) && Z.eqb (part_of (fst f)) k) F.

  Lemma known_row_spec n : known_row n = true <-> In n (map fst rows).
  Proof. unfold known_row. rewrite existsb_exists. split; [intros (m & I & E); apply Z.eqb_eq in E; subst; exact I|intros I; exists n; split; [exact I|apply Z.eqb_refl]]. Qed.

  Lemma flips_in_rows k g : zsum (flips_in k) g = zsum rows (fun r => if Z.eqb (part_of (fst r)) k then zsum (of_node (fst r) F) g else 0).
  Proof.
    unfold flips_in. rewrite zsum_filter.
    rewrite (zsum_ext rows _ (fun r => zsum F (fun f => if Z.eqb (fst r) (fst f) then (if Z.eqb (part_of (fst f)) k then g f else 0) else 0))).
    - rewrite zsum_swap. apply zsum_ext. intros f. destruct (known_row (fst f)) eqn:E; cbn [andb].
      + apply known_row_spec in E. apply in_map_iff in E as ([n items] & En & J). cbn [fst] in En. subst n.
        rewrite (zsum_key rows (fst f) items (fun _ => if Z.eqb (part_of (fst f)) k then g f else 0) DISTINCT J). reflexivity.
      + rewrite (zsum_no_key rows (fst f) (fun _ => if Z.eqb (part_of (fst f)) k then g f else 0)); [reflexivity|].
        intros J. apply known_row_spec in J. congruence.
    - intros r. unfold of_node. rewrite zsum_filter. destruct (Z.eqb (part_of (fst r)) k) eqn:E.
      + apply zsum_ext. intros f. rewrite (Z.eqb_sym (fst f)). destruct (Z.eqb_spec (fst r) (fst f)) as [En|]; [rewrite <- En, E; reflexivity|reflexivity].
      + symmetry. apply zsum_zero. intros f _. destruct (Z.eqb_spec (fst r) (fst f)) as [En|]; [rewrite <- En, E; reflexivity|reflexivity].
  Qed.

  Definition of_row (r : Z * list (stake * list (Z * (unit -> losing)))) : list Z := best (pos (left P (fst r))) (amounts P weights (fst r) price (snd r)).

  Lemma of_row_sound r above : 0 <= above -> In r rows ->
    zsum (of_node (fst r) F) (fun f => pos (worth_in_all f - price - above)) <= zsum (of_row r) (fun x => pos (x - above)).
  Proof.
    intros AB I. destruct r as [n items]. cbn [fst] in *. apply best_sound; [exact AB|unfold pos; lia|]. intros b Hb. cbn [fst snd].
    pose proof I as I'. rewrite same_rows in I'.
    pose proof (row_above P first width pairs pairs_good pairs_distinct F n items price b ADMISSIBLE ltac:(lia) I') as RA. fold worth_in_all weights in RA.
    pose proof (size_left P F n ADMISSIBLE) as SL.
    apply Z.le_trans with (size (of_node n F) * (b - above) + zsum (of_node n F) (fun f => pos (worth_in_all f - price - b))).
    { unfold size. rewrite size_sum, <- zsum_scale_r, <- zsum_plus. apply zsum_le_in. intros f _. unfold pos. lia. }
    apply Z.add_le_mono; [apply Z.mul_le_mono_nonneg_r; [lia|exact SL]|exact RA].
  Qed.

  (* What is known of a part. *)
  Let groups := pieces P weights part_of price of_nodes rows.
  Hypothesis GROUPS : NoDup (map fst groups).
  Hypothesis SORTED : forall g, In g groups -> descending (largest_first (flat_map above (snd g))) = true.

  Lemma groups_sum (f : piece -> Z) k ps : In (k, ps) groups ->
    zsum ps f = zsum of_nodes (fun e => if Z.eqb (part_of (fst e)) k then f {| breakable := fst (snd e); lacking := snd (snd e); room := 0; above := [] |} else 0) +
                zsum rows (fun r => if Z.eqb (part_of (fst r)) k then f {| breakable := 0; lacking := 0; room := pos (left P (fst r)); above := of_row r |} else 0).
  Proof.
    intros I. pose proof (zsum_key groups k ps (fun g => zsum (snd g) f) GROUPS I) as E. cbn [snd] in E. rewrite <- E. clear E.
    rewrite (zsum_ext groups _ (fun g => zsum (snd g) (fun e => if Z.eqb (fst g) k then f e else 0)))
      by (intros g; destruct (Z.eqb (fst g) k); [reflexivity|rewrite zsum_zero; reflexivity]).
    unfold groups, pieces. rewrite (group_sum _ (fun k' e => if Z.eqb k' k then f e else 0)), zsum_app, !zsum_map. reflexivity.
  Qed.

  Lemma owner_in_group e : In e of_nodes -> exists ps, In (part_of (fst e), ps) groups.
  Proof.
    intros I. destruct (group_has (map (fun e => (part_of (fst e), {| breakable := fst (snd e); lacking := snd (snd e); room := 0; above := [] |})) of_nodes ++
      map (fun r => (part_of (fst r), {| breakable := 0; lacking := 0; room := pos (left P (fst r)); above := of_row r |})) rows)
      (part_of (fst e)) {| breakable := fst (snd e); lacking := snd (snd e); room := 0; above := [] |}) as (g & G & _); [|exists g; exact G].
    apply in_or_app. left. apply (in_map (fun e => (part_of (fst e), {| breakable := fst (snd e); lacking := snd (snd e); room := 0; above := [] |})) of_nodes e I).
  Qed.

  (* Flips of a part are worth no more than the largest numbers that are listed of it. *)
  Lemma flips_worth k ps : In (k, ps) groups ->
    zsum (flips_in k) worth_in_all <= size (flips_in k) * price + zsum (firstn (length (flips_in k)) (largest_first (flat_map above ps))) pos.
  Proof.
    intros I. set (S := zsum (flips_in k) (fun f => pos (worth_in_all f - price))).
    assert (zsum (flips_in k) worth_in_all <= size (flips_in k) * price + S) as H.
    { unfold S, size. rewrite size_sum, <- zsum_scale_r, <- zsum_plus. apply zsum_le_in. intros f _. unfold pos. lia. }
    assert (S <= zsum (firstn (length (flips_in k)) (largest_first (flat_map above ps))) (fun x => pos (x - 0))) as B.
    { apply firstn_sound; [exact (SORTED _ I)|]. intros b Hb. rewrite largest_first_sum, zsum_flat_map, (groups_sum (fun e => zsum (above e) (fun x => pos (x - b))) k ps I).
      cbn [above]. rewrite (zsum_zero of_nodes) by (intros e _; destruct (Z.eqb _ _); reflexivity).
      apply Z.le_trans with (Z.of_nat (length (flips_in k)) * (b - 0) + zsum (flips_in k) (fun f => pos (worth_in_all f - price - b))).
      - unfold S. rewrite size_sum, <- zsum_scale_r, <- zsum_plus. apply zsum_le_in. intros f _. unfold pos. lia.
      - apply Z.add_le_mono_l. rewrite flips_in_rows. cbn [Z.add]. apply zsum_le_in. intros r Hr. destruct (Z.eqb _ _); [|lia]. apply of_row_sound; assumption. }
    rewrite (zsum_ext _ (fun x => pos (x - 0)) pos) in B by (intros x; f_equal; lia). lia.
  Qed.

  Lemma flips_fit k ps : In (k, ps) groups -> size (flips_in k) <= Z.min (total P) (zsum ps room).
  Proof.
    intros I. apply Z.min_glb.
    - destruct ADMISSIBLE as (_ & _ & Q & _). etransitivity; [|exact Q]. unfold flips_in, size. rewrite !size_sum, zsum_filter. apply zsum_le_in. intros f _. destruct (_ && _); lia.
    - rewrite (groups_sum room k ps I). cbn [room]. rewrite (zsum_zero of_nodes) by (intros e _; destruct (Z.eqb _ _); reflexivity).
      unfold size. rewrite size_sum, flips_in_rows. cbn [Z.add]. apply zsum_le_in. intros r _. destruct (Z.eqb _ _); [|lia]. rewrite <- size_sum. apply size_left, ADMISSIBLE.
  Qed.

  (* A share line is worth nothing but flips of its own part. *)
  Lemma value_in_part e : In e all -> value e = zsum (flips_in (part_of (fst (fst e)))) (fun f => worth_of (fst (snd (fst e))) f (snd e f)).
  Proof.
    intros I. unfold value, flips_in. rewrite zsum_filter. apply zsum_ext_in. intros f Hf. destruct (GOOD e I) as (_ & _ & _ & OUT & _).
    destruct (in_dec Z.eq_dec (fst f) (map fst (snd (snd (fst e))))) as [J|J].
    - apply in_map_iff in J as (r & En & J). rewrite <- En, (OWN e r I J), Z.eqb_refl, andb_true_r, En.
      assert (known_row (fst f) = true) as ->; [|reflexivity]. apply known_row_spec.
      assert (In (fst f, (fst (snd (fst e)), snd r)) (flat_map (fun s => map (fun r => (fst r, (fst s, snd r))) (snd s)) (map snd (map fst all)))) as K.
      { apply in_flat_map. exists (snd (fst e)). split; [apply in_map, in_map; exact I|]. rewrite <- En. apply (in_map (fun r => (fst r, (fst (snd (fst e)), snd r)))). exact J. }
      destruct (group_has _ _ _ K) as (g & G & _). apply (in_map fst _ (fst f, g)). exact G.
    - destruct (made_is_free P F f ADMISSIBLE Hf) as [FR _]. pose proof (OUT (fst f) (snd f) FR J) as Z0.
      rewrite <- surjective_pairing in Z0. rewrite Z0, worth_of_zero. destruct (_ && _); reflexivity.
  Qed.

  (* Broken predictions: each may be broken, and what it lacks and what its share lines are worth are ONE together. *)
  Hypothesis NODES : NoDup (map fst of_nodes).
  Hypothesis POSSIBLE : forall e, In e of_nodes -> 0 <= fst (snd e) /\ 0 <= snd (snd e).
  Hypothesis BROKEN : NoDup T /\ forall n, In n T -> exists e, In e of_nodes /\ fst e = n /\ 1 <= fst (snd e) /\
    ONE * ONE <= snd (snd e) + zsum all (fun s => if Z.eqb (fst (fst s)) n then value s else 0).

  Definition broken_in (k : Z) : list Z := filter (fun n => Z.eqb (part_of n) k) T.

  Lemma broken_sum k (f : Z * (Z * Z) -> Z) : (forall e, In e of_nodes -> 0 <= f e) ->
    zsum (broken_in k) (fun n => zsum of_nodes (fun e => if Z.eqb (fst e) n then f e else 0)) <= zsum of_nodes (fun e => if Z.eqb (part_of (fst e)) k then f e else 0).
  Proof.
    intros N. rewrite zsum_swap. apply zsum_le_in. intros e He. specialize (N e He). destruct (in_dec Z.eq_dec (fst e) (broken_in k)) as [J|J].
    - rewrite (zsum_ext _ _ (fun n => if Z.eqb n (fst e) then f e else 0)) by (intros n; rewrite Z.eqb_sym; reflexivity).
      rewrite (zsum_only (broken_in k) (fst e) (fun _ => f e)); [|apply NoDup_filter, BROKEN|exact J]. apply filter_In in J as [_ ->]. lia.
    - rewrite zsum_zero; [destruct (Z.eqb _ _); lia|]. intros n Hn. destruct (Z.eqb_spec (fst e) n) as [En|]; [subst; contradiction|reflexivity].
  Qed.

  Lemma part_reaches k ps : In (k, ps) groups -> reaches (needed_in P price (largest_first (flat_map above ps)) ps) (length (broken_in k)) (size (flips_in k)).
  Proof.
    intros I. pose proof one_positive as OP. destruct BROKEN as [_ BR].
    assert (forall f, (forall e, In e of_nodes -> 0 <= f e) -> forall n, In n (broken_in k) -> exists e, In e of_nodes /\ fst e = n /\ 1 <= fst (snd e) /\
      ONE * ONE <= snd (snd e) + zsum all (fun s => if Z.eqb (fst (fst s)) n then value s else 0) /\ zsum of_nodes (fun e => if Z.eqb (fst e) n then f e else 0) = f e) as EACH.
    { intros f _ n Hn. apply filter_In in Hn as [Hn _]. destruct (BR n Hn) as (e & I1 & I2 & I3 & I4). exists e. repeat split; auto.
      rewrite (surjective_pairing e) in I1. rewrite I2 in I1. rewrite (zsum_key of_nodes n (snd e) f NODES I1). rewrite (surjective_pairing e), I2. reflexivity. }
    apply needed_sound; [lia|exact PRICE| |exact (flips_fit k ps I)|].
    - apply Nat2Z.inj_le. rewrite Z2Nat.id.
      2: { rewrite (groups_sum breakable k ps I). cbn [breakable]. apply Z.add_nonneg_nonneg; apply zsum_nonneg; intros x Hx; destruct (Z.eqb _ _); try lia. apply POSSIBLE. exact Hx. }
      rewrite (groups_sum breakable k ps I). cbn [breakable]. rewrite (zsum_zero rows) by (intros r _; destruct (Z.eqb _ _); reflexivity). rewrite Z.add_0_r.
      etransitivity; [|apply (broken_sum k (fun e => fst (snd e))); intros e He; apply POSSIBLE; exact He]. rewrite size_sum. apply zsum_le_in. intros n Hn.
      destruct (EACH (fun e => fst (snd e)) (fun e He => proj1 (POSSIBLE e He)) n Hn) as (e & _ & _ & H & _ & ->). exact H.
    - fold (size (flips_in k)). pose proof (flips_worth k ps I) as FW.
      assert (Z.of_nat (length (broken_in k)) * (ONE * ONE) <= zsum ps lacking + zsum (flips_in k) worth_in_all); [|lia].
      rewrite (groups_sum lacking k ps I). cbn [lacking]. rewrite (zsum_zero rows) by (intros r _; destruct (Z.eqb _ _); reflexivity). rewrite Z.add_0_r.
      apply Z.le_trans with (zsum (broken_in k) (fun n => zsum of_nodes (fun e => if Z.eqb (fst e) n then snd (snd e) else 0)) +
        zsum (broken_in k) (fun n => zsum all (fun s => if Z.eqb (fst (fst s)) n then value s else 0))).
      + rewrite size_sum, <- zsum_scale_r, <- zsum_plus. apply zsum_le_in. intros n Hn.
        destruct (EACH (fun e => snd (snd e)) (fun e He => proj2 (POSSIBLE e He)) n Hn) as (e & _ & _ & _ & H & ->). lia.
      + apply Z.add_le_mono; [apply (broken_sum k (fun e => snd (snd e))); intros e He; apply POSSIBLE; exact He|].
        rewrite (zsum_swap (broken_in k) all). unfold worth_in_all, worth_of_flip. rewrite (zsum_swap (flips_in k) pairs). unfold pairs. rewrite zsum_map. cbn [fst snd]. apply zsum_le_in. intros s Hs.
        destruct (GOOD s Hs) as (G & _ & W & _).
        assert (0 <= zsum (flips_in k) (fun f => worth_of (fst (snd (fst s))) f (snd s f))) as N0 by (apply zsum_nonneg; intros f _; apply worth_of_nonneg; [exact G|apply W]).
        destruct (in_dec Z.eq_dec (fst (fst s)) (broken_in k)) as [J|J].
        * rewrite (zsum_ext _ _ (fun n => if Z.eqb n (fst (fst s)) then value s else 0)) by (intros n; rewrite Z.eqb_sym; reflexivity).
          rewrite (zsum_only (broken_in k) (fst (fst s)) (fun _ => value s)); [|apply NoDup_filter, BROKEN|exact J]. apply filter_In in J as [_ J]. apply Z.eqb_eq in J.
          rewrite (value_in_part s Hs), J. lia.
        * rewrite zsum_zero; [exact N0|]. intros n Hn. destruct (Z.eqb_spec (fst (fst s)) n) as [En|]; [subst; contradiction|reflexivity].
  Qed.

  Lemma in_parts_sound : Z.of_nat (length T) <=
    Z.of_nat (length (cheapest (total P) (map (fun g => needed_in P price (largest_first (flat_map above (snd g))) (snd g)) groups))) - 1.
  Proof.
    etransitivity; [|apply (cheapest_sound (total P) groups (fun g => needed_in P price (largest_first (flat_map above (snd g))) (snd g))
      (fun g => length (broken_in (fst g))) (fun g => size (flips_in (fst g))))].
    - rewrite size_sum. rewrite (zsum_ext groups _ (fun g => zsum T (fun n => if Z.eqb (part_of n) (fst g) then 1 else 0)))
        by (intros g; unfold broken_in; rewrite size_sum, zsum_filter; reflexivity).
      rewrite zsum_swap. apply zsum_le_in. intros n Hn. destruct BROKEN as [_ BR]. destruct (BR n Hn) as (e & I & En & _). destruct (owner_in_group e I) as (ps & G). rewrite En in G.
      rewrite (zsum_ext groups _ (fun g => if Z.eqb (fst g) (part_of n) then 1 else 0)) by (intros g; rewrite Z.eqb_sym; reflexivity).
      rewrite (zsum_key groups (part_of n) ps (fun _ => 1) GROUPS G). lia.
    - intros g _. unfold size. lia.
    - intros [k ps] I. apply part_reaches. exact I.
    - destruct ADMISSIBLE as (_ & _ & Q & _). etransitivity; [|exact Q]. unfold size.
      rewrite (zsum_ext groups _ (fun g => zsum F (fun f => if known_row (fst f) && Z.eqb (part_of (fst f)) (fst g) then 1 else 0)))
        by (intros g; unfold flips_in; rewrite size_sum, zsum_filter; reflexivity).
      rewrite zsum_swap, size_sum. apply zsum_le_in. intros f _.
      apply Z.le_trans with (zsum (map fst groups) (fun k => if Z.eqb k (part_of (fst f)) then 1 else 0)).
      + rewrite zsum_map. apply zsum_le_in. intros g _. rewrite (Z.eqb_sym (fst g)). destruct (known_row _), (Z.eqb _ _); cbn [andb]; lia.
      + destruct (in_dec Z.eq_dec (part_of (fst f)) (map fst groups)) as [J|J]; [rewrite (zsum_only _ _ (fun _ => 1) GROUPS J); lia|].
        rewrite zsum_zero; [lia|]. intros k Hk. destruct (Z.eqb_spec k (part_of (fst f))) as [->|]; [contradiction|reflexivity].
  Qed.
End InParts.
