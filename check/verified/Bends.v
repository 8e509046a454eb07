(* Rule 5' holds: bounds of units of layer 3 that are affine in the flips, and the bends over them. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units Rows.
Import ListNotations.
Open Scope Z_scope.

Lemma entries_sum l m (f : term Z -> Z -> Z -> Z) :
  zsum (terms l) (fun t => zsum (operator t m) (fun e => f t (fst e) (snd e))) =
  zsum (entries_of l m) (fun r => zsum (snd r) (fun e => f (fst e) (fst r) (snd e))).
Proof.
  unfold entries_of. rewrite (group_sum _ (fun n e => f (fst e) n (snd e))), zsum_flat_map. apply zsum_ext. intros t.
  rewrite zsum_map. reflexivity.
Qed.

(* A pre-activation, sender by sender: the weights of all terms added up. *)
Lemma zvalue_entries l below V m j :
  zvalue (l :: below) V m j = bias l m j + zsum (entries_of l m) (fun r => zsum (ids (inputs l)) (fun i =>
    zsum (snd r) (fun e => snd e * weight (fst e) i j) * zpassed below i (zvalue below V (fst r) i))).
Proof.
  cbn [zvalue]. f_equal.
  rewrite (entries_sum l m (fun t n a => a * zsum (ids (inputs l)) (fun i => zpassed below i (zvalue below V n i) * weight t i j))). apply zsum_ext. intros r.
  rewrite (zsum_ext (ids (inputs l)) _ (fun i => zsum (snd r) (fun e => snd e * weight (fst e) i j * zpassed below i (zvalue below V (fst r) i))))
    by (intros; rewrite zsum_scale_r; reflexivity).
  rewrite zsum_swap. apply zsum_ext. intros e. rewrite <- zsum_scale. apply zsum_ext. intros i. lia.
Qed.

Local Arguments zvalue : simpl never.

(* Rows by key. *)
Lemma at_row_sum {A} (around : list (Z * list A)) n f : NoDup (map fst around) ->
  zsum (at_row around n) f = zsum around (fun r => if Z.eqb (fst r) n then zsum (snd r) f else 0).
Proof.
  unfold at_row. induction around as [|r around IH]; intros ND; [reflexivity|]. cbn [map] in ND. inversion ND as [|? ? NI ND']; subst.
  cbn [List.find]. rewrite zsum_cons. destruct (Z.eqb_spec (fst r) n) as [E|E].
  - rewrite zsum_no_key; [lia|]. rewrite <- E. exact NI.
  - rewrite <- IH by assumption. reflexivity.
Qed.

Lemma at_row_here {A} (around : list (Z * list A)) n row : NoDup (map fst around) -> In (n, row) around -> at_row around n = row.
Proof.
  unfold at_row. induction around as [|r around IH]; intros ND I; [destruct I|]. cbn [map] in ND. inversion ND as [|? ? NI ND']; subst.
  cbn [List.find]. destruct (Z.eqb_spec (fst r) n) as [E|E].
  - destruct I as [->|I]; [reflexivity|]. destruct NI. rewrite E. exact (in_map fst around (n, row) I).
  - destruct I as [->|I]; [contradiction|]. apply IH; assumption.
Qed.

Lemma at_row_in {A} (around : list (Z * list A)) n x : In x (at_row around n) -> exists row, In (n, row) around /\ In x row.
Proof.
  unfold at_row. destruct (List.find _ around) as [[n' row]|] eqn:E; [|intros []]. apply find_some in E as [I E]. apply Z.eqb_eq in E. cbn [fst snd] in *. subst.
  intros H. exists row. auto.
Qed.

Lemma at_row_none {A} (around : list (Z * list A)) n : ~ In n (map fst around) -> at_row around n = [].
Proof.
  intros NI. unfold at_row. destruct (List.find _ around) as [[n' row]|] eqn:E; [|reflexivity]. apply find_some in E as [I E]. apply Z.eqb_eq in E. cbn [fst] in E.
  subst. destruct NI. exact (in_map fst around _ I).
Qed.

Lemma spots_spec us places : spots us places = true -> map spot us = places.
Proof.
  revert places. induction us as [|u us IH]; intros [|i places]; cbn [spots]; try discriminate; [reflexivity|].
  intros H. apply andb_prop in H as [H1 H2]. apply Z.eqb_eq in H1. cbn [map]. rewrite H1, (IH _ H2). reflexivity.
Qed.

Definition level_charge (c : charge) : Prop := match c with Paying _ _ => False | _ => True end.
Definition proper_held (u : held) : Prop :=
  0 <= tilt u /\ match curve u with Some c => level_charge c /\ forall f g, charged c f g <= pos g | None => True end.
Definition towards (k : charge) (x : Z) : Z := match k with Falling _ => - x | _ => x end.

(* None of these steps finds that no perturbation takes the path. *)
Lemma each_one_possible {B C} (f : B -> result C) l : (forall b, f b <> Impossible) -> each_one f l <> Impossible.
Proof. intros H E. apply each_one_impossible in E as (b & _ & E). exact (H b E). Qed.

Lemma bind_possible {B C} (r : result B) (f : B -> result C) : r <> Impossible -> (forall b, f b <> Impossible) -> bind r f <> Impossible.
Proof. intros R H E. apply bind_impossible in E as [E|(b & _ & E)]; [exact (R E)|exact (H b E)]. Qed.

Lemma resolve_possible P rows j z b : resolve P rows j z b <> Impossible.
Proof.
  unfold resolve. destruct (Z.leb 0 (share b)); [|discriminate]. destruct (shape b) as [t p|up down].
  - destruct (Z.leb 0 t); [|discriminate]. unfold select. destruct (Z.ltb z 0); destruct (not_negative p); discriminate.
  - destruct (_ && _); discriminate.
Qed.

Lemma nest_possible P made l2 h rows width2 below width k : nest_above P made l2 h rows width2 below width k <> Impossible.
Proof.
  unfold nest_above. destruct below as [|second [|first [|]]]; try discriminate. destruct (filter _ _); [discriminate|]. destruct (_ && _); [|discriminate].
  apply bind_possible.
  - apply each_one_possible. intros n. unfold hold_node. destruct (ascending _); [|discriminate]. apply bind_possible; [|discriminate].
    apply each_one_possible. intros q. unfold hold. destruct (relu _ _); [|discriminate]. destruct (support _ _ _) as [[omega l']|]; [|discriminate].
    destruct (_ && _); [|discriminate]. apply bind_possible; [apply resolve_possible|discriminate].
  - intros known. apply bind_possible; [|discriminate]. apply each_one_possible. intros e. unfold bend_node. destruct (has_nested _ _ _); [|discriminate].
    destruct (_ && _); [|discriminate]. apply bind_possible; [|discriminate]. apply each_one_possible. intros j. destruct (relu _ _); [|discriminate].
    apply each_one_possible. intros [c l']. unfold join. destruct (_ && _); discriminate.
Qed.

Lemma surroundings_ext link link' nodes : (forall n, link n = link' n) -> surroundings link nodes = surroundings link' nodes.
Proof. intros E. unfold surroundings. f_equal. apply flat_map_ext. intros n. rewrite E. reflexivity. Qed.

Lemma sound_surroundings_ext link link' nodes around : (forall n, link n = link' n) ->
  sound_surroundings link nodes around = sound_surroundings link' nodes around.
Proof.
  intros E. unfold sound_surroundings. f_equal. f_equal. induction nodes as [|n nodes IH]; [reflexivity|]. cbn [forallb]. rewrite E, IH. reflexivity.
Qed.

Section Bends.
  Variables (P : problem) (F : list flip) (first : layer Z) (ready_width : Z) (l2 : layer2) (h : hints).
  Hypothesis A : admissible P F.
  Hypothesis IN : inputs first = count P.
  Hypothesis KNOWS : knows P first ready_width l2.
  Let made := all_ready (count P) ready_width first.
  Let X := attributes P.
  Let Y := flipped X F.

  Lemma after_flips m j : zpre [first] Y m j = zpre [first] X m j + zsum F (effect first X m j).
  Proof.
    apply flipped_pre; [apply A|]. intros f Hf. rewrite IN. destruct A as (_ & PF & _). apply (PF f Hf).
  Qed.

  (* The lines of a unit of layer 2. *)
  Definition holds_at (n : Z) (u : held) : Prop :=
    let x := zpassed [first] (spot u) (zpre [first] Y n (spot u)) in
    one h * x <= upper u + zsum F (fun f => fst (moved h u f (effect first X n (spot u) f))) /\
    lower u + zsum F (fun f => snd (moved h u f (effect first X n (spot u) f))) <= one h * x.

  Lemma hold_sound n i u : 0 <= one h -> ascending (links made n) = true ->
    hold P h first (links made n) n i (zpre [first] X n i) = Got u -> spot u = i /\ proper_held u /\ holds_at n u.
  Proof.
    intros ONE ASC. unfold hold. destruct (relu first i) eqn:R.
    - destruct (support h n i) as [[omega l]|].
      + destruct (Z.leb 0 omega && Z.leb omega (one h)) eqn:E; [|discriminate]. apply andb_prop in E as [E1 E2]. apply Z.leb_le in E1, E2.
        intros H. apply bind_got in H as ([a [c k]] & H & [= <-]).
        assert (level_charge k /\ c = one h) as [LC ->].
        { revert H. unfold resolve. cbn [share shape]. destruct (Z.leb 0 (one h)); [|discriminate]. destruct (Z.leb 0 (limit l)); [|discriminate].
          destruct (Z.ltb _ 0); intros H; apply bind_got in H as (s & _ & [= <- <- <-]); split; reflexivity. }
        apply (resolve_sound P F ready_width first n A ASC) in H as [[_ H1] H2]. cbn [fst snd] in *.
        split; [reflexivity|]. split; [split; [exact E1|split; [exact LC|exact H1]]|].
        unfold holds_at, moved. cbn [spot upper lower curve tilt fst snd zpassed]. rewrite R, after_flips.
        rewrite (zsum_ext F (effect first X n i) (links_effect X (links made n) i)) by (intros; symmetry; apply links_effect_spec).
        rewrite (zsum_ext F (fun f => one h * charged k f (effect first X n i f)) (fun f => one h * charged k f (links_effect X (links made n) i f)))
          by (intros; f_equal; f_equal; symmetry; apply links_effect_spec).
        split; [exact H2|].
        rewrite (zsum_ext F _ (fun f => omega * links_effect X (links made n) i f)) by (intros; f_equal; symmetry; apply links_effect_spec).
        rewrite zsum_scale. set (x := zpre [first] X n i + zsum F (links_effect X (links made n) i)).
        assert (omega * x <= one h * pos x) by (unfold pos; destruct (Z_le_gt_dec 0 x); [rewrite Z.max_l by lia|rewrite Z.max_r by lia]; nia). unfold x in *. lia.
      + intros [= <-]. split; [reflexivity|]. split.
        * split; [cbn; lia|]. split; [exact I|]. intros f g. cbn [charged]. unfold pos. lia.
        * unfold holds_at, moved. cbn [spot upper lower curve tilt fst snd zpassed]. rewrite R, after_flips. split.
          -- rewrite zsum_scale. cbn [charged].
             assert (pos (zpre [first] X n i + zsum F (effect first X n i)) <=
               pos (zpre [first] X n i) + zsum F (fun f => Z.max (effect first X n i f - Z.min (pos (effect first X n i f)) 0) 0)); [|nia].
             assert (zsum F (effect first X n i) <= zsum F (fun f => Z.max (effect first X n i f - Z.min (pos (effect first X n i f)) 0) 0))
               by (apply zsum_le_in; intros; unfold pos; lia).
             assert (0 <= zsum F (fun f => Z.max (effect first X n i f - Z.min (pos (effect first X n i f)) 0) 0)) by (apply zsum_nonneg; intros; lia).
             unfold pos in *. lia.
          -- rewrite zsum_zero by (intros; lia). assert (0 <= pos (zpre [first] X n i + zsum F (effect first X n i))) by (unfold pos; lia). nia.
    - intros [= <-]. split; [reflexivity|]. split; [split; [exact ONE|exact I]|].
      unfold holds_at, moved. cbn [spot upper lower curve tilt fst snd zpassed]. rewrite R, after_flips, zsum_scale. split; nia.
  Qed.

  Lemma moved_nothing u f : proper_held u -> moved h u f 0 = (0, 0).
  Proof.
    intros [_ H]. unfold moved. rewrite Z.mul_0_r. f_equal. destruct (curve u) as [c|]; [|lia]. destruct H as [L H]. specialize (H f 0).
    change (pos 0) with 0 in H. assert (charged c f 0 = 0) as ->; [|lia]. destruct c; cbn [charged level_charge] in *; lia.
  Qed.

  Lemma mix_nothing ws us f : (forall u, In u us -> proper_held u) -> mix ws (map (fun u => moved h u f 0) us) = 0.
  Proof.
    revert ws. induction us as [|u us IH]; intros [|w ws] H; cbn [map mix]; try reflexivity. rewrite IH by auto with datatypes.
    rewrite moved_nothing by auto with datatypes. cbn [fst snd]. destruct (Z.ltb 0 w); lia.
  Qed.

  Section Ground.
    Variable ground : Z -> list held.

    (* What a flip changes in a bound of layer 3. *)
    Definition gain (parts : list (Z * list Z)) (f : flip) : Z :=
      zsum parts (fun r => mix (snd r) (map (fun u => moved h u f (effect first X (fst r) (spot u) f)) (ground (fst r)))).

    Lemma mix_bound n us ws : (forall u, In u us -> holds_at n u) ->
      zsum (combine ws us) (fun p => fst p * (one h * zpassed [first] (spot (snd p)) (zpre [first] Y n (spot (snd p))))) <=
      mix ws (map (fun u => (upper u, lower u)) us) + zsum F (fun f => mix ws (map (fun u => moved h u f (effect first X n (spot u) f)) us)).
    Proof.
      revert ws. induction us as [|u us IH]; intros [|w ws] H; cbn [map mix combine]; rewrite ?zsum_nil; try (rewrite zsum_zero by reflexivity; lia).
      rewrite zsum_cons, zsum_plus. cbn [fst snd]. specialize (IH ws (fun u' I => H u' (or_intror I))). destruct (H u (or_introl eq_refl)) as [H1 H2].
      cbn zeta in H1, H2. destruct (Z.ltb_spec 0 w).
      - rewrite zsum_scale. nia.
      - rewrite zsum_scale. nia.
    Qed.

    Lemma combine_spots us (w : Z -> Z) (f : Z -> Z) :
      zsum (combine (map w (map spot us)) us) (fun p => fst p * f (spot (snd p))) = zsum (map spot us) (fun i => w i * f i).
    Proof.
      induction us as [|u us IH]; [reflexivity|]. cbn [map combine]. rewrite !zsum_cons, IH. reflexivity.
    Qed.

    (* (5.13): an affine bound of a unit of layer 3. *)
    Lemma base_sound second m j :
      (forall n u, In u (ground n) -> holds_at n u) ->
      (forall r, In r (entries_of second m) -> map spot (ground (fst r)) = ids (inputs second)) ->
      one h * zpre [second; first] Y m j <= base h ground second m j (into second m j) + zsum F (gain (into second m j)).
    Proof.
      intros H SP. rewrite zvalue_entries, Z.mul_add_distr_l. unfold base, gain. rewrite <- Z.add_assoc. apply Z.add_le_mono_l.
      rewrite (zsum_swap F (into second m j)), <- zsum_plus, <- zsum_scale. unfold into. rewrite zsum_map. cbn [fst snd]. apply zsum_le_in. intros r Hr.
      etransitivity; [|apply mix_bound; intros u Hu; apply H; exact Hu].
      rewrite <- (SP r Hr). rewrite (combine_spots _ _ (fun i => one h * zpassed [first] i (zpre [first] Y (fst r) i))).
      rewrite <- zsum_scale. apply Z.eq_le_incl, zsum_ext. intros i. ring.
    Qed.

    (* Row by row, the changes are the same. *)
    Lemma combined_gain nodes parts n d :
      sound_surroundings (links made) nodes (surroundings (links made) nodes) = true ->
      (forall r, In r parts -> In (fst r) nodes) ->
      (forall r u, In r parts -> In u (ground (fst r)) -> proper_held u) ->
      combined parts (moves P h ground (at_row (surroundings (links made) nodes) n) n d) = gain parts (n, d).
    Proof.
      intros S IP PR. unfold sound_surroundings in S. apply andb_prop in S as [S AS]. apply andb_prop in S as [S1 S2].
      rewrite forallb_forall in S2. apply ascending_nodup in AS.
      assert (NoDup nodes) as ND. { apply ascending_nodup in S1. rewrite map_map, map_id in S1. exact S1. }
      unfold combined, moves. rewrite zsum_map. cbn [fst snd]. rewrite at_row_sum by assumption.
      set (v := change (attributes P) n d).
      set (M := fun (r : Z * list Z) (grp : list (ready * Z)) => mix (snd r) (map (fun u => moved h u (n, d) (v * weights grp (spot u) d)) (ground (fst r)))).
      set (phi := fun it : Z * list (ready * Z) => zsum parts (fun r => if Z.eqb (fst r) (fst it) then M r (snd it) else 0)).
      transitivity (zsum (surroundings (links made) nodes) (fun r => zsum (snd r) (fun it => if Z.eqb (fst r) n then phi it else 0))).
      { apply zsum_ext. intros r. destruct (Z.eqb (fst r) n); [|symmetry; apply zsum_zero; reflexivity]. apply zsum_ext. intros it. unfold phi.
        apply zsum_ext. intros r'. destruct (Z.eqb_spec (fst r') (fst it)) as [E|]; [|reflexivity]. unfold M. rewrite E. reflexivity. }
      unfold surroundings. rewrite (group_sum _ (fun k it => if Z.eqb k n then phi it else 0)), zsum_flat_map.
      transitivity (zsum nodes (fun n2 => zsum parts (fun r => if Z.eqb n2 (fst r)
        then zsum (links made n2) (fun lk => if Z.eqb (fst lk) n then M r (snd lk) else 0) else 0))).
      { apply zsum_ext. intros n2. rewrite zsum_map. cbn [fst snd]. unfold phi. cbn [fst snd].
        rewrite (zsum_ext (links made n2) _ (fun lk => zsum parts (fun r => if Z.eqb n2 (fst r) then (if Z.eqb (fst lk) n then M r (snd lk) else 0) else 0))).
        - rewrite zsum_swap. apply zsum_ext. intros r. destruct (Z.eqb n2 (fst r)); [reflexivity|]. apply zsum_zero. reflexivity.
        - intros lk. destruct (Z.eqb (fst lk) n).
          + apply zsum_ext. intros r. rewrite Z.eqb_sym. reflexivity.
          + symmetry. apply zsum_zero. intros r _. destruct (Z.eqb n2 (fst r)); reflexivity. }
      rewrite zsum_swap. unfold gain. apply zsum_ext_in. intros r Hr.
      rewrite (zsum_only nodes (fst r) (fun n2 => zsum (links made n2) (fun lk => if Z.eqb (fst lk) n then M r (snd lk) else 0)) ND (IP r Hr)).
      pose proof (ascending_nodup _ (S2 _ (IP r Hr))) as NL.
      destruct (in_dec Z.eq_dec n (map fst (links made (fst r)))) as [I|NI].
      - apply in_map_iff in I as ([n' grp] & E & I). cbn [fst] in E. subst n'.
        rewrite (zsum_key (links made (fst r)) n grp (fun lk => M r (snd lk)) NL I). unfold M. cbn [snd]. f_equal. apply map_ext. intros u. f_equal.
        rewrite <- (links_effect_spec first (count P) ready_width). fold made. symmetry. apply links_effect_row; assumption.
      - rewrite (zsum_no_key (links made (fst r)) n (fun lk => M r (snd lk)) NI). symmetry.
        rewrite (map_ext _ (fun u => moved h u (n, d) 0)).
        + apply mix_nothing. intros u Hu. apply (PR r u Hr Hu).
        + intros u. f_equal. rewrite <- (links_effect_spec first (count P) ready_width). fold made. apply links_effect_no_row. assumption.
    Qed.

    (* Lines by which no flip changes a bound more towards zero. *)
    Lemma lean_sound k w u f g : level_charge k -> 0 <= one h -> proper_held u ->
      towards k (if Z.ltb 0 w then w * fst (moved h u f g) else w * snd (moved h u f g)) <=
      snd (lean h k w u) * pos (- g) - fst (lean h k w u) * pos g.
    Proof.
      intros LK ONE [T PC]. unfold moved, lean. cbn [fst snd].
      assert (g = pos g - pos (- g)) as G by (unfold pos; lia). set (a := pos g) in *. set (b := pos (- g)) in *.
      assert (0 <= a) by (unfold a, pos; lia). assert (0 <= b) by (unfold b, pos; lia).
      destruct (Z.ltb_spec 0 w).
      - assert (0 <= w * one h) by nia. destruct k; try contradiction; cbn [towards fst snd].
        + destruct (curve u) as [c|]; cbn [fst snd].
          * destruct PC as [_ PC]. specialize (PC f g). fold a in PC. nia.
          * rewrite G. nia.
        + destruct (curve u) as [c|]; [destruct PC as [LC _]; destruct c as [t'|t'|]; try contradiction|]; cbn [fst snd charged].
          * assert (0 <= Z.max (g - Z.min (pos g) t') 0) by lia. nia.
          * assert (g <= Z.max g (- Z.min (pos (- g)) t')) by lia. nia.
          * rewrite G. nia.
      - destruct k; try contradiction; cbn [towards fst snd]; rewrite G; nia.
    Qed.

    Definition leaned (k : charge) (p : Z * held) : unit2 :=
      let s := lean h k (fst p) (snd p) in {| place := spot (snd p); rise := fst s; fall := snd s; bent := [] |}.

    Lemma leaning_sound k ws us f (g : Z -> Z) : level_charge k -> 0 <= one h -> (forall u, In u us -> proper_held u) ->
      towards k (mix ws (map (fun u => moved h u f (g (spot u))) us)) <= zsum (map (leaned k) (combine ws us)) (fun t => loss t f (g (place t))).
    Proof.
      intros LK ONE. revert ws. induction us as [|u us IH]; intros [|w ws] H; cbn [map mix combine]; rewrite ?zsum_nil; try (unfold towards; destruct k; lia).
      rewrite zsum_cons. specialize (IH ws (fun u' I => H u' (or_intror I))).
      pose proof (lean_sound k w u f (g (spot u)) LK ONE (H u (or_introl eq_refl))) as L.
      unfold loss at 1. unfold leaned at 1 2 3 4 5. cbn [rise fall bent place fst snd]. rewrite zsum_nil.
      assert (forall x y, towards k (x + y) = towards k x + towards k y) as -> by (intros; unfold towards; destruct k; lia). lia.
    Qed.

    Lemma towards_sum {B} k (l : list B) f : towards k (zsum l f) = zsum l (fun b => towards k (f b)).
    Proof. destruct k; cbn [towards]; try reflexivity. symmetry. apply zsum_opp. Qed.

    Lemma links_of_surroundings nodes n row n2 grp : In (n, row) (surroundings (links made) nodes) -> In (n2, grp) row -> In (n, grp) (links made n2).
    Proof.
      intros H K. pose proof (group_in _ n row (n2, grp) H K) as I. apply in_flat_map in I as (n' & _ & I).
      apply in_map_iff in I as (lk & E & I). inversion E; subst. destruct lk. exact I.
    Qed.

    Lemma tolls_sound k parts nodes l width : width = ready_width -> level_charge k -> 0 <= one h -> 0 <= limit l -> not_negative (toll l) = true ->
      sound_surroundings (links made) nodes (surroundings (links made) nodes) = true ->
      (forall r, In r parts -> In (fst r) nodes /\ length (snd r) = length (ids width) /\ map spot (ground (fst r)) = ids width) ->
      (forall r u, In r parts -> In u (ground (fst r)) -> proper_held u) ->
      zsum F (fun f => Z.min (pos (towards k (gain parts f))) (limit l)) <=
      tolls P made l2 h (attribute_rows (count P) width first) ground k parts (surroundings (links made) nodes) l.
    Proof.
      intros RW LK ONE LI NN S IP PR. set (near := surroundings (links made) nodes) in *.
      assert (NoDup (map fst near)) as ND. { apply ascending_nodup. unfold sound_surroundings in S. apply andb_prop in S as [_ S]. exact S. }
      assert (forall n d, combined parts (moves P h ground (at_row near n) n d) = gain parts (n, d)) as CG.
      { intros n d. apply combined_gain; auto. intros r Hr. apply (IP r Hr). }
      unfold tolls. etransitivity; [apply (selection P F (toll l) _ (map fst near) A NN)|].
      - intros n d _ NI. rewrite <- CG, at_row_none by assumption. unfold combined, moves. cbn [map]. rewrite zsum_nil.
        pose proof (price_of_nonneg (toll l) n NN). unfold towards, pos. destruct k; cbn; lia.
      - apply Z.add_le_mono_l. rewrite zsum_map. apply zsum_le_in. intros [n row] Hr. cbn [fst snd].
        pose proof (price_of_nonneg (toll l) n NN) as NP.
        destruct (Z.leb_spec (limit l) (price_of (toll l) n)) as [L|L].
        + unfold excess. rewrite zsum_zero; [reflexivity|]. intros d _. destruct (free P n d); [|reflexivity]. unfold pos. lia.
        + assert (at_row near n = row) as AR by (apply at_row_here; assumption).
          assert (forall it, In it (lined (leaning h ground k parts) row) -> exists r n2 grp, In r parts /\ fst r = n2 /\ In (n2, grp) row /\
            it = (map (leaned k) (combine (snd r) (ground n2)), grp)) as IT.
          { intros it Hit. apply in_flat_map in Hit as ([n2 grp] & I1 & I2). apply in_map_iff in I2 as (q & <- & I2). apply filter_In in I2 as [I2 I3].
            apply Z.eqb_eq in I3. cbn [fst snd] in *. unfold leaning in I2. apply in_map_iff in I2 as (r & <- & I2). cbn [fst snd] in *.
            exists r, n2, grp. repeat split; auto. rewrite I3. reflexivity. }
          apply (sifted_sound P first ready_width width _ _ n _ _ _ _ IN NP (knows_grain _ _ _ _ KNOWS)); [rewrite RW; apply (knows_rough _ _ _ _ KNOWS)| | | | |].
          * intros it Hit. destruct (IT it Hit) as (r & n2 & grp & H1 & H2 & H3 & ->). cbn [fst]. rewrite map_map.
            destruct (IP r H1) as (_ & L1 & L2). rewrite H2 in L2. rewrite <- L2 in *.
            assert (length (snd r) = length (ground n2)) as LL by (rewrite L1, map_length; reflexivity). clear - LL. revert LL.
            generalize (snd r). induction (ground n2) as [|u us IHu]; intros [|w ws] E; try discriminate; [reflexivity|]. cbn [combine map]. rewrite IHu by (inversion E; reflexivity). reflexivity.
          * intros it e Hit He. destruct (IT it Hit) as (r & n2 & grp & H1 & H2 & H3 & ->). cbn [snd] in He.
            destruct e as [t a]. apply (links_ready made n2 n grp t a); [|exact He]. apply (links_of_surroundings nodes n row); assumption.
          * intros it u Hit Hu. destruct (IT it Hit) as (r & n2 & grp & H1 & H2 & H3 & ->). cbn [fst] in Hu.
            apply in_map_iff in Hu as (q & <- & _). intros b [].
          * intros d. assert (towards k (gain parts (n, d)) <= row_loss P n (lined (leaning h ground k parts) row) d) as RL; [|unfold pos; lia].
            rewrite <- CG, AR. unfold combined, moves. rewrite zsum_map. cbn [fst snd]. unfold row_loss, lined. rewrite zsum_flat_map, towards_sum.
            apply zsum_le_in. intros [n2 grp] I1. cbn [fst snd]. rewrite zsum_map, zsum_filter, towards_sum. cbn [fst snd]. unfold leaning. rewrite zsum_map. cbn [fst snd].
            apply zsum_le_in. intros r Hp. destruct (Z.eqb_spec (fst r) n2) as [E|]; [|destruct k; cbn; lia].
            rewrite E. apply (leaning_sound k (snd r) (ground n2) (n, d) (fun i => change (attributes P) n d * weights grp i d) LK ONE).
            intros u Hu. rewrite <- E in Hu. apply (PR r u Hp Hu).
          * intros d. rewrite <- CG, AR. unfold towards, pos. lia.
    Qed.

    (* (5.14): a bend of a unit of layer 3. *)
    Lemma join_sound second m j b v jt width : width = ready_width -> 0 <= one h -> inputs second = width ->
      sound_surroundings (links made) (map fst (entries_of second m)) (surroundings (links made) (map fst (entries_of second m))) = true ->
      (forall n u, In u (ground n) -> proper_held u /\ holds_at n u) ->
      (forall r, In r (entries_of second m) -> map spot (ground (fst r)) = ids (inputs second)) ->
      join P made l2 h (attribute_rows (count P) width first) ground second (surroundings (links made) (map fst (entries_of second m))) m j b = Got (v, jt) ->
      0 <= part jt /\ (forall f g, charged (kind jt) f g <= pos g) /\ over jt = into second m j /\
      part jt * (one h * pos (zpre [second; first] Y m j)) <= v + zsum F (fun f => part jt * charged (kind jt) f (gain (over jt) f)).
    Proof.
      intros RW ONE W S H SP. unfold join. destruct b as [c l]. destruct (Z.leb 0 c && Z.leb 0 (limit l) && not_negative (toll l)) eqn:E; [|discriminate].
      apply andb_prop in E as [E NN]. apply andb_prop in E as [E1 E2]. apply Z.leb_le in E1, E2.
      set (parts := into second m j). set (B := base h ground second m j parts). set (k := if Z.ltb B 0 then Rising (limit l) else Falling (limit l)).
      pose proof (base_sound second m j (fun n u I => proj2 (H n u I)) SP) as BS. fold parts B in BS.
      assert (level_charge k) as LK by (unfold k; destruct (Z.ltb B 0); exact I).
      assert (zsum F (fun f => Z.min (pos (towards k (gain parts f))) (limit l)) <=
        tolls P made l2 h (attribute_rows (count P) width first) ground k parts (surroundings (links made) (map fst (entries_of second m))) l) as TS.
      { apply tolls_sound; auto.
        - intros r Hr. unfold parts, into in Hr. apply in_map_iff in Hr as (e & <- & He). cbn [fst snd]. rewrite map_length, <- W. repeat split; auto.
          apply in_map. exact He.
        - intros r u _ Hu. apply (proj1 (H _ u Hu)). }
      set (T := tolls _ _ _ _ _ _ _ _ _ _) in *. intros [= <- <-]. cbn [part kind over].
      split; [exact E1|]. unfold k in *. destruct (Z.ltb_spec B 0) as [N|N]; cbn [towards charged] in *.
      - split; [intros f g; unfold pos; lia|]. split; [reflexivity|]. rewrite zsum_scale.
        pose proof (nested_bend_sound F _ _ B (gain parts) (fun f => Z.min (pos (gain parts f)) (limit l)) (fun _ => 0) T 0 ONE BS TS) as K.
        rewrite zsum_zero in K by reflexivity. specialize (K (Z.le_refl 0)). change (- 0) with 0 in K. clearbody T parts B. nia.
      - split; [intros f g; unfold pos; lia|]. split; [reflexivity|]. rewrite zsum_scale.
        pose proof (nested_bend_sound F _ _ B (gain parts) (fun _ => 0) (fun f => Z.min (pos (- gain parts f)) (limit l)) 0 T ONE BS) as K.
        rewrite zsum_zero in K by reflexivity. specialize (K (Z.le_refl 0) TS). rewrite Z.add_0_r in K.
        rewrite (zsum_ext F (fun i => Z.max (gain parts i - 0) (- Z.min (pos (- gain parts i)) (limit l)))
          (fun f => Z.max (gain parts f) (- Z.min (pos (- gain parts f)) (limit l)))) in K by (intros; f_equal; lia).
        clearbody T parts B. nia.
    Qed.

    (* What flips lose by bends. *)
    Definition bends_loss (js : list joint) (f : flip) : Z := zsum js (fun b => part b * charged (kind b) f (gain (over b) f)).

    Lemma no_bends_loss : zsum F (bends_loss []) = 0.
    Proof. apply zsum_zero. reflexivity. Qed.

    Lemma bends_loss_app a b : zsum F (bends_loss (a ++ b)) = zsum F (bends_loss a) + zsum F (bends_loss b).
    Proof. rewrite <- zsum_plus. apply zsum_ext. intros f. unfold bends_loss. apply zsum_app. Qed.

    Definition proper_joint (width : Z) (b : joint) : Prop :=
      0 <= one h /\ 0 <= part b /\ (forall f g, charged (kind b) f g <= pos g) /\
      forall r, In r (over b) -> length (snd r) = length (ids width) /\ map spot (ground (fst r)) = ids width /\ forall u, In u (ground (fst r)) -> proper_held u.

    Lemma bend_node_sound second width width2 e v e' js : width2 = ready_width -> 0 <= one h -> inputs second = width2 ->
      (forall n u, In u (ground n) -> proper_held u /\ holds_at n u) ->
      bend_node P made l2 h (attribute_rows (count P) width2 first) ground second width e = Got (v, (e', js)) ->
      let passed := fun i => zpassed [second; first] i (zpre [second; first] Y (fst e) i) in
      (forall b, In b js -> proper_joint width2 b) /\ fst e' = fst e /\
      against (ids width) (snd e') passed - v - zsum F (bends_loss js) <= against (ids width) (snd e) passed.
    Proof.
      intros RW ONE W H. unfold bend_node. destruct e as [m ks]. cbn [fst snd].
      rewrite (sound_surroundings_ext _ _ _ _ (knows_links _ _ _ _ KNOWS)), (surroundings_ext _ _ _ (knows_links _ _ _ _ KNOWS)). fold made.
      destruct (has_nested h width m).
      2: { intros [= <- <- <-]. cbn [fst snd]. split; [intros b []|]. split; [reflexivity|]. rewrite no_bends_loss. lia. }
      set (nodes := map fst (entries_of second m)). destruct (sound_surroundings (links made) nodes (surroundings (links made) nodes)) eqn:S; cbn [andb]; [|discriminate].
      destruct (forallb _ nodes) eqn:SP; [|discriminate]. rewrite forallb_forall in SP.
      assert (forall r, In r (entries_of second m) -> map spot (ground (fst r)) = ids (inputs second)) as SR.
      { intros r Hr. apply spots_spec, SP. unfold nodes. apply in_map. exact Hr. }
      intros G. apply bind_got in G as (ls & G & [= <- <- <-]). cbn zeta. cbn [fst snd].
      set (passed := fun i => zpassed [second; first] i (zpre [second; first] Y m i)). rewrite against_vadd. apply each_one_got in G.
      assert (forall j b v jt, join P made l2 h (attribute_rows (count P) width2 first) ground second (surroundings (links made) nodes) m j b = Got (v, jt) ->
        proper_joint width2 jt /\ part jt * (one h * pos (zpre [second; first] Y m j)) <= v + zsum F (fun f => part jt * charged (kind jt) f (gain (over jt) f))) as J.
      { intros j b v jt E. destruct (join_sound second m j b v jt width2 RW ONE W S H SR E) as (J1 & J2 & J3 & J4). split; [|exact J4].
        split; [exact ONE|]. split; [exact J1|]. split; [exact J2|]. rewrite J3. intros r Hr. unfold into in Hr. apply in_map_iff in Hr as (q & <- & Hq).
        cbn [fst snd]. rewrite map_length, <- W. split; [reflexivity|]. split; [apply SR; exact Hq|]. intros u Hu. apply (H _ u Hu). }
      assert (forall j l, each_one (join P made l2 h (attribute_rows (count P) width2 first) ground second (surroundings (links made) nodes) m j) (nested h m j) = Got l ->
        (forall b, In b (map snd l) -> proper_joint width2 b) /\
        one h * zsum l (fun q => part (snd q)) * pos (zpre [second; first] Y m j) <= zsum l fst + zsum F (bends_loss (map snd l))) as K.
      { intros j l E. apply each_one_got in E. generalize dependent (nested h m j). intros bs E. induction E as [|b [v jt] bs l' E0 E IH].
        - split; [intros b []|]. cbn [map]. rewrite no_bends_loss, !zsum_nil. lia.
        - destruct IH as [I1 I2]. apply J in E0 as [J1 J2]. split; [intros q [<-|Hq]; auto|]. cbn [map snd]. rewrite !zsum_cons. cbn [fst snd].
          change (jt :: map snd l') with ([jt] ++ map snd l'). rewrite bends_loss_app.
          assert (zsum F (bends_loss [jt]) = zsum F (fun f => part jt * charged (kind jt) f (gain (over jt) f))) as ->
            by (apply zsum_ext; intros f; unfold bends_loss; rewrite zsum_cons, zsum_nil; lia).
          lia. }
      assert (forall j l, (if relu second j then each_one (join P made l2 h (attribute_rows (count P) width2 first) ground second (surroundings (links made) nodes) m j) (nested h m j) else Got []) = Got l ->
        (forall b, In b (map snd l) -> proper_joint width2 b) /\
        one h * zsum l (fun q => part (snd q)) * passed j <= zsum l fst + zsum F (bends_loss (map snd l))) as K'.
      { intros j l. unfold passed. cbn [zpassed]. destruct (relu second j); [apply K|]. intros [= <-]. split; [intros b []|]. cbn [map]. rewrite no_bends_loss, !zsum_nil. lia. }
      clear K J. clearbody passed.
      assert ((forall b, In b (flat_map (map snd) ls) -> proper_joint width2 b) /\
        against (ids width) (map (fun l => one h * zsum l (fun j => part (snd j))) ls) passed <= zsum ls (fun l => zsum l fst) + zsum F (bends_loss (flat_map (map snd) ls))) as [R1 R2].
      { generalize dependent (ids width). intros units G. induction G as [|j l units ls E0 G IH].
        - split; [intros b []|]. cbn [flat_map]. rewrite no_bends_loss. unfold against. cbn. lia.
        - destruct IH as [I1 I2]. apply K' in E0 as [J1 J2]. split.
          + intros b Hb. cbn [flat_map] in Hb. apply in_app_or in Hb as []; auto.
          + cbn [map flat_map]. unfold against in *. cbn [combine]. rewrite !zsum_cons. cbn [fst snd].
            rewrite bends_loss_app. lia. }
      split; [exact R1|]. split; [reflexivity|]. lia.
    Qed.

    (* Slopes of layer 2 by which no flip loses less than by bends. *)
    Lemma shade_sound c w u f g : 0 <= c -> 0 <= one h -> proper_held u ->
      c * (if Z.ltb 0 w then w * fst (moved h u f g) else w * snd (moved h u f g)) <= snd (shade h c (w, u)) * pos (- g) - fst (shade h c (w, u)) * pos g.
    Proof.
      intros C ONE [T PC]. unfold moved, shade. cbn [fst snd]. destruct (Z.ltb_spec 0 w); cbn [fst snd].
      - assert (match curve u with Some c => charged c f g | None => g end <= pos g) by (destruct (curve u) as [k|]; [apply (proj2 PC)|unfold pos; lia]).
        set (p := match curve u with Some _ => _ | None => _ end) in *. assert (0 <= c * (w * one h)) by (apply Z.mul_nonneg_nonneg; nia). nia.
      - assert (- pos (- g) <= g) by (unfold pos; lia). assert (0 <= c * (- w * tilt u)) by (apply Z.mul_nonneg_nonneg; nia). nia.
    Qed.

    Lemma mix_shades c ws us f (g : Z -> Z) : 0 <= c -> 0 <= one h -> (forall u, In u us -> proper_held u) -> length ws = length us ->
      c * mix ws (map (fun u => moved h u f (g (spot u))) us) <= worth (map spot us) (map (shade h c) (combine ws us)) g /\
      0 <= worth (map spot us) (map (shade h c) (combine ws us)) g.
    Proof.
      intros C ONE. revert ws. induction us as [|u us IH]; intros [|w ws] H L; try discriminate; [unfold worth; cbn; lia|].
      cbn [map mix combine]. unfold worth in *. cbn [combine]. rewrite !zsum_cons. cbn [fst snd].
      destruct (IH ws (fun u' I => H u' (or_intror I))) as [I1 I2]; [inversion L; reflexivity|].
      pose proof (H u (or_introl eq_refl)) as PU. pose proof (shade_sound c w u f (g (spot u)) C ONE PU) as S. split; [lia|].
      assert (0 <= snd (shade h c (w, u)) * pos (- g (spot u)) - fst (shade h c (w, u)) * pos (g (spot u))); [|lia].
      destruct PU as [T _]. unfold shade. cbn [fst snd]. assert (0 <= pos (g (spot u))) by (unfold pos; lia). assert (0 <= pos (- g (spot u))) by (unfold pos; lia).
      destruct (Z.ltb_spec 0 w); cbn [fst snd].
      - assert (0 <= c * (w * one h)) by (apply Z.mul_nonneg_nonneg; nia). nia.
      - assert (0 <= c * (- w * tilt u)) by (apply Z.mul_nonneg_nonneg; nia). nia.
    Qed.

    Lemma worth_slopes units parts q c : worth units (slopes_of parts q) c = zsum parts (fun e => if Z.eqb (fst e) q then worth units (snd e) c else 0).
    Proof.
      induction parts as [|e parts IH].
      - cbn. unfold worth. destruct units; reflexivity.
      - cbn [slopes_of fold_right]. rewrite zsum_cons. fold (slopes_of parts q). destruct (Z.eqb (fst e) q); [rewrite worth_padd, IH|rewrite IH]; lia.
    Qed.

    Lemma padd_length a b : (length a <= length (padd a b))%nat.
    Proof. revert b. induction a as [|x a IH]; intros [|y b]; cbn [padd length]; try lia. specialize (IH b). lia. Qed.

    Lemma shaded_places width parts n : map place (shaded width parts n) = ids width.
    Proof.
      unfold shaded. rewrite map_map. cbn [place]. set (zeros := map (fun _ : Z => (0, 0)) (ids width)).
      assert (length (ids width) <= length (padd zeros (slopes_of parts n)))%nat as L.
      { etransitivity; [|apply padd_length]. unfold zeros. rewrite map_length. lia. }
      revert L. generalize (padd zeros (slopes_of parts n)). clear zeros. generalize (ids width).
      intros u. induction u as [|i u IH]; intros [|p l] L; cbn [combine map length] in *; try reflexivity; [lia|]. rewrite IH by lia. reflexivity.
    Qed.

    Lemma shaded_loss width parts n f (g : Z -> Z) :
      zsum (shaded width parts n) (fun u => loss u f (g (place u))) = worth (ids width) (slopes_of parts n) g.
    Proof.
      unfold shaded. rewrite zsum_map. unfold loss. cbn [place rise fall bent].
      rewrite (zsum_ext _ _ (fun p => snd (snd p) * pos (- g (fst p)) - fst (snd p) * pos (g (fst p)))) by (intros; rewrite zsum_nil; lia).
      change (worth (ids width) (padd (map (fun _ : Z => (0, 0)) (ids width)) (slopes_of parts n)) g = worth (ids width) (slopes_of parts n) g).
      rewrite worth_padd. assert (worth (ids width) (map (fun _ : Z => (0, 0)) (ids width)) g = 0); [|lia].
      unfold worth. generalize (ids width). intros u. induction u as [|i u IH]; [reflexivity|]. cbn [map combine]. rewrite zsum_cons, IH. cbn [fst snd]. lia.
    Qed.

    Lemma joint_loss_most width js items n d : (forall b, In b js -> proper_joint width b) ->
      joint_loss P h ground js items n d <=
      row_loss P n (map (fun it => (shaded width (shades h ground js) (fst it), snd it)) items) d.
    Proof.
      intros PJ. unfold row_loss. rewrite zsum_map. cbn [fst snd]. set (v := change (attributes P) n d).
      rewrite (zsum_ext items _ (fun it => zsum js (fun b => zsum (over b) (fun r => if Z.eqb (fst r) (fst it)
        then worth (ids width) (map (shade h (part b)) (combine (snd r) (ground (fst r)))) (fun i => v * weights (snd it) i d) else 0)))).
      2: { intros it. rewrite (shaded_loss width _ _ (n, d) (fun i => v * weights (snd it) i d)), worth_slopes. unfold shades. rewrite zsum_flat_map.
           apply zsum_ext. intros b. rewrite zsum_map. reflexivity. }
      rewrite zsum_swap. unfold joint_loss. apply zsum_le_in. intros b Hb. destruct (PJ b Hb) as (ONE & C & PK & PR).
      specialize (PK (n, d) (combined (over b) (moves P h ground items n d))).
      set (S := zsum items _).
      assert (part b * combined (over b) (moves P h ground items n d) <= S /\ 0 <= S) as [S1 S2]; [|unfold pos in PK; nia].
      unfold S, combined, moves. rewrite zsum_map. cbn [fst snd]. fold v.
      assert (forall it r, In r (over b) -> part b * (if Z.eqb (fst r) (fst it) then mix (snd r) (map (fun u => moved h u (n, d) (v * weights (snd it) (spot u) d)) (ground (fst it))) else 0) <=
        (if Z.eqb (fst r) (fst it) then worth (ids width) (map (shade h (part b)) (combine (snd r) (ground (fst r)))) (fun i => v * weights (snd it) i d) else 0) /\
        0 <= (if Z.eqb (fst r) (fst it) then worth (ids width) (map (shade h (part b)) (combine (snd r) (ground (fst r)))) (fun i => v * weights (snd it) i d) else 0)) as ONE_PART.
      { intros it r Hr. destruct (Z.eqb_spec (fst r) (fst it)) as [E|]; [|lia]. destruct (PR r Hr) as (L & SPOT & PH). rewrite <- E, <- SPOT.
        apply (mix_shades (part b) (snd r) (ground (fst r)) (n, d) (fun i => v * weights (snd it) i d) C ONE PH). rewrite L, <- SPOT. apply map_length. }
      split.
      - rewrite <- zsum_scale. apply zsum_le_in. intros it _. rewrite <- zsum_scale. apply zsum_le_in. intros r Hr. apply (ONE_PART it r Hr).
      - apply zsum_nonneg. intros it _. apply zsum_nonneg. intros r Hr. apply (ONE_PART it r Hr).
    Qed.
  End Ground.

  Definition nest_loss (ns : nest) : flip -> Z := bends_loss (ground ns) (joints ns).
  Definition proper_nest (width2 : Z) (ns : nest) : Prop := forall b, In b (joints ns) -> proper_joint (ground ns) width2 b.

  (* (5.15): what remains of the coefficients, the cost of bends, and what flips lose by them. *)
  Theorem nest_sound width2 below width k v k' ns :
    nest_above P made l2 h (attribute_rows (count P) width2 first) width2 below width k = Got (v, (k', ns)) ->
    ready_width = width2 ->
    (forall second f, below = [second; f] -> f = first) ->
    let passed := fun e : Z * list Z => against (ids width) (snd e) (fun i => zpassed below i (zpre below Y (fst e) i)) in
    proper_nest width2 ns /\ zsum k' passed - v - zsum F (nest_loss ns) <= zsum k passed.
  Proof.
    intros G RW BOTTOM passed.
    assert (Got (0, (k, no_nest)) = Got (v, (k', ns)) -> proper_nest width2 ns /\ zsum k' passed - v - zsum F (nest_loss ns) <= zsum k passed) as NONE.
    { intros [= <- <- <-]. split; [intros b []|]. unfold nest_loss. cbn [joints no_nest]. rewrite no_bends_loss. lia. }
    unfold nest_above in G. destruct below as [|second [|f [|]]]; auto. specialize (BOTTOM second f eq_refl). subst f.
    destruct (filter _ _) as [|b0 bs]; auto. clear NONE.
    set (nodes := map fst _) in G. destruct (Z.leb 0 (one h) && Z.eqb (inputs second) width2) eqn:E; [|discriminate].
    apply andb_prop in E as [ONE W]. apply Z.leb_le in ONE. apply Z.eqb_eq in W.
    assert (forall n, at_rest l2 n = map (zpre [first] X n) (ids (inputs second))) as ZS
      by (intros n; rewrite (knows_rest _ _ _ _ KNOWS), W, RW; reflexivity).
    apply bind_got in G as (known & GK & G). set (ground := get _) in G. apply bind_got in G as (all & G & [= <- <- <-]).
    assert (forall n u, In u (ground n) -> proper_held u /\ holds_at n u) as H.
    { intros n u Hu. unfold ground in Hu. rewrite get_tabulate in Hu. apply at_row_in in Hu as (us & I1 & I2). apply each_one_got in GK.
      clear - GK I1 I2 A IN KNOWS ONE ZS made. revert GK I1. clearbody nodes. revert nodes. induction known as [|q known IH]; intros nodes GK I1; [destruct I1|].
      inversion GK as [|n0 q0 ns0 known0 E GK']; subst. destruct I1 as [->|I1]; [|apply (IH _ GK' I1)]. clear - E I2 A IN KNOWS ONE ZS made.
      unfold hold_node in E. rewrite (knows_links _ _ _ _ KNOWS) in E. fold made in E. destruct (ascending (links made n0)) eqn:ASC; [|discriminate]. rewrite ZS in E.
      apply bind_got in E as (vs & E & [= -> ->]). apply each_one_got in E. revert E. generalize (ids (inputs second)). intros ids0 E.
      revert us E I2. induction ids0 as [|i ids0 IH]; intros us E I2; cbn [map combine] in E; inversion E as [|p0 u0 ps us0 E0 E1]; subst; [destruct I2|].
      destruct I2 as [->|I2]; [|apply (IH _ E1 I2)]. cbn [fst snd] in E0. apply (hold_sound n i u ONE ASC) in E0 as (_ & P1 & P2). auto. }
    clearbody ground. unfold proper_nest, nest_loss. cbn [joints Nested.ground]. apply each_one_got in G.
    clear GK. induction G as [|e [v [e' js]] k all E G IH].
    - split; [intros b []|]. cbn [flat_map map]. rewrite no_bends_loss, !zsum_nil. lia.
    - destruct IH as [I1 I2]. destruct (bend_node_sound ground second width width2 e v e' js (eq_sym RW) ONE W H E) as (R1 & R2 & R3). cbn zeta in R3. split.
      + intros b Hb. cbn [flat_map fst snd] in Hb. apply in_app_or in Hb as []; auto.
      + cbn [flat_map map]. rewrite !zsum_cons. cbn [fst snd].
        rewrite bends_loss_app. unfold passed at 1 3. rewrite R2. lia.
  Qed.
End Bends.
