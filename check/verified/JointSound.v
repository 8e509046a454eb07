(* What is said of flips and changed edges at once is true. *)
From Coq Require Import ZArith QArith List Bool Lia.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units Leaf Losses Trees Sound Floats Edges EdgesSound Joint.
Import ListNotations.
Open Scope Z_scope.

(* What is computed once is what every graph has. *)
Lemma combine_map_right {A B C} (f : B -> C) (l : list B) : forall k : list A, combine k (map f l) = map (fun e => (fst e, f (snd e))) (combine k l).
Proof. induction l as [|b l IH]; intros [|a k]; cbn [combine map]; [reflexivity..|]. rewrite IH. reflexivity. Qed.

Lemma numbered_on g l : numbered (layer_on g l) = map (fun e => (fst e, term_on g (snd e))) (combine (ids (Z.of_nat (length (ruled_terms l)))) (ruled_terms l)).
Proof. unfold numbered, layer_on. cbn [terms]. rewrite map_length. exact (combine_map_right (term_on g) (ruled_terms l) _). Qed.

Lemma ready_on_spec g size width l : ready_on g (columns_once size l) = all_ready size width (layer_on g l).
Proof. unfold ready_on, columns_once, all_ready. rewrite numbered_on, !map_map. reflexivity. Qed.

Lemma weights_on g size width l : attribute_rows size width (layer_on no_edges l) = attribute_rows size width (layer_on g l).
Proof.
  assert (forall d, map (fun t => map (weight (snd t) d) (ids width)) (numbered (layer_on no_edges l)) = map (fun t => map (weight (snd t) d) (ids width)) (numbered (layer_on g l))) as Q
    by (intros d; rewrite !numbered_on, !map_map; reflexivity).
  unfold attribute_rows. cbv zeta. rewrite (map_ext _ _ (fun d => f_equal (fun ws => (- squares ws, (d, ws))) (Q d))). reflexivity.
Qed.

Lemma layer2_on_knows P g l width grain sent : sends (layer_on g l) width (entries (attributes P)) sent ->
  knows P (layer_on g l) width (layer2_of P (layer_on g l) width
    {| joined := tabulate (links (ready_on g (columns_once (count P) l))); grained := grained (fixed_of (layer_on no_edges l) width grain []);
       roughly := roughly (fixed_of (layer_on no_edges l) width grain []) |} sent).
Proof.
  intros S. assert (forall n, receive width (layer_on g l) sent n = map (zpre [layer_on g l] (attributes P) n) (ids width)) as R by (intros n; apply first_spec, S).
  rewrite (ready_on_spec g (count P) width l). unfold layer2_of, fixed_of.
  constructor; cbn [linked at_rest ranges Steps.grain rough joined grained roughly]; [intros n|intros n| |lia|intros d]; rewrite ?get_tabulate; [reflexivity|apply R| |].
  - set (here := get (tabulate (columns_here P (layer_on g l)))). exists (best_prices P 1 here), (best_prices P (-1) here).
    intros n. rewrite get_tabulate. cbn zeta. rewrite !get_tabulate, R. clear R. induction (ids width) as [|i r IH]; [reflexivity|]. cbn [map combine fst snd].
    rewrite IH, !select_here_same by (intros k; unfold here; rewrite get_tabulate; reflexivity). reflexivity.
  - rewrite !numbered_on, !map_map. apply map_ext. intros t. rewrite map_map. reflexivity.
Qed.

Section Joint.
  Variables (net : list (ruled Z)) (classes : Z) (E : edge_problem) (P0 : problem) (j : joint_prepared).
  Hypothesis PREPARED : prepare_joint net classes E P0 = Some j.

  Lemma joint_fields : prepare_edges net classes E (entries (attributes P0)) = Some (changing j) /\ flipping j = P0 /\
    lowest net classes = Some (lowest_layer j, lowest_width j) /\ ruled_inputs (lowest_layer j) = count P0 /\
    columns_known j = columns_once (count P0) (lowest_layer j) /\
    weights_known j = attribute_rows (count P0) (lowest_width j) (layer_on no_edges (lowest_layer j)) /\
    fixed_known j = fixed_of (layer_on no_edges (lowest_layer j)) (lowest_width j) (grain_for (weights_known j)) [] /\
    sent_once (changing j) = sent_first (lowest_layer j) (lowest_width j) (entries (attributes P0)).
  Proof.
    unfold prepare_joint in PREPARED. destruct (lowest net classes) as [[l w]|] eqn:L; [|discriminate].
    destruct (prepare_edges net classes E (entries (attributes P0))) as [p|] eqn:PE; [|discriminate].
    destruct (Z.eqb_spec (ruled_inputs l) (count P0)) as [IN|]; [|discriminate]. injection PREPARED as <-. repeat split; auto.
    cbn [changing lowest_layer lowest_width]. unfold prepare_edges in PE. rewrite L in PE. injection PE as <-. reflexivity.
  Qed.

  Lemma prepared_on_sound g : sound (on_graph net g) classes P0 no_rivals entries (prepared_on j g).
  Proof.
    destruct joint_fields as (PE & FL & LO & IN & CO & WE & FI & SE).
    destruct (same_problem net classes E _ _ PE) as (_ & En & Ec & _). pose proof (lowest_bottom net g classes _ _ LO) as B. pose proof (bottom_ends _ _ _ _ B) as EN0.
    unfold prepared_on. rewrite En, Ec, FL, FI, CO, SE, WE, (weights_on g), (ready_on_spec g (count P0) (lowest_width j)).
    set (l := lowest_layer j) in *. set (w := lowest_width j) in *.
    assert (forall P, count P = count P0 -> knows P (layer_on g l) w (layer2_of P (layer_on g l) w
        {| joined := tabulate (links (all_ready (count P0) w (layer_on g l))); grained := grained (fixed_of (layer_on no_edges l) w (grain_for (attribute_rows (count P0) w (layer_on g l))) []);
           roughly := roughly (fixed_of (layer_on no_edges l) w (grain_for (attribute_rows (count P0) w (layer_on g l))) []) |} (sent_on g (sent_first l w (entries (attributes P)))))) as KN.
    { intros P CP. rewrite <- (ready_on_spec g (count P0) w l), <- CP. apply layer2_on_knows, sent_on_sends. }
    constructor; try reflexivity.
    - intros X Y H n d. unfold entries. rewrite H. reflexivity.
    - intros P F C s whole h net' width o CP A _ EN O W. cbn [view_of bound_of plain_view]. rewrite <- CP in *.
      exact (bound_sound P F (layer_on g l) w _ h A IN (KN P eq_refl) s whole net' width o (EN _ EN0) O W).
    - intros P F whole h shortcut net' width wanted CP A EN W. cbn [view_of intervals_of plain_view]. rewrite <- CP in *.
      exact (intervals_sound P F no_signs whole (layer_on g l) w _ h A IN (KN P eq_refl) shortcut net' width wanted (EN _ EN0) (no_signs_obeyed _ _) W).
    - intros P F t CP. cbn [view_of logits_of plain_view].
      apply (logits_from_spec (on_graph net g) classes (layer_on g l) w plain_rows entries (attributes P) F t _ B (sent_on_sends l w g _)).
      + intros Y. apply plain_reads.
      + intros Y n H d. unfold entries. rewrite H. reflexivity.
  Qed.

  Notation value g F t i := (zvalue (on_graph net g) (entries (flipped (attributes P0) F)) t i).
  Definition kept_jointly (t y : Z) (others : list Z) (g : graph) : Prop :=
    forall F, admissible P0 F -> forall other, In other others -> 0 <= other < classes -> other <> y -> value g F t other < value g F t y.

  Lemma kept_jointly_alike t y others g h : alike (rows_read g net [t]) g h -> kept_jointly t y others g -> kept_jointly t y others h.
  Proof. intros A K F AF other I Ho D. rewrite <- !(values_alike _ g h net [t] t) by (auto; left; reflexivity). apply K; assumption. Qed.

  Lemma flips_keep_sound t y f others g : 0 <= y < classes -> flips_keep j t y f others g = true -> kept_jointly t y others g.
  Proof.
    intros Hy H F A other I Ho D. pose proof (prepared_on_sound g) as S. destruct joint_fields as (_ & FL & _). unfold flips_keep in H. rewrite FL in H.
    destruct (all_lines (prepared_on j g) no_bounds (first_lines f)) as [whole|] eqn:L; [|discriminate].
    pose proof (all_lines_sound _ P0 classes no_rivals entries _ S _ no_bounds whole (no_bounds_sound _ entries P0) L) as WS.
    apply andb_prop in H as [HS H]. apply Z.ltb_lt in HS. rewrite forallb_forall in H. specialize (H other I).
    destruct (List.find _ (flip_trees f)) as [e|]; [|discriminate]. rewrite (same_root _ _ _ _ _ _ S) in H.
    pose proof (tree_sound _ classes P0 no_rivals entries _ S (snd e) P0 [] no_signs F whole _ eq_refl A (apart_none F) (fun _ (x : False) => match x with end) (no_signs_obeyed _ _) (WS F A) H) as T.
    rewrite (margin_value _ classes P0 no_rivals entries _ S) in T; [nia|apply ids_in; lia|apply ids_in; lia|assumption].
  Qed.

  Theorem judge_joint_sound by_prediction t y c :
    let found (R : Z -> Z -> Prop) := exists C F other, admissible_changes E C /\ admissible P0 F /\ 0 <= other < classes /\ other <> y /\
      R (value (changed_graph E C) F t y) (value (changed_graph E C) F t other) in
    match judge_joint j by_prediction t y c with
    | Said IsRobust => forall C F, admissible_changes E C -> admissible P0 F -> forall other, 0 <= other < classes -> other <> y ->
        value (changed_graph E C) F t other < value (changed_graph E C) F t y
    | Said IsBroken => found Z.lt /\ (by_prediction = true -> zpredicted (on_graph net (graph_of E)) P0 classes entries t y)
    | Said IsTied => found eq /\ (by_prediction = true -> zpredicted (on_graph net (graph_of E)) P0 classes entries t y)
    | _ => True
    end.
  Proof.
    intros found. destruct joint_fields as (PE & FL & _). destruct (same_problem net classes E _ _ PE) as (Ep & En & Ec & _).
    unfold judge_joint. rewrite Ep, Ec, FL. destruct c as [work trees|other C F].
    - destruct (covers classes y trees) eqn:H; [|exact I].
      assert (0 <= y < classes) as Hy by (unfold covers in H; rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt in H; tauto).
      destruct (list_trees _ _ _ _ work trees) as [left| |] eqn:R; try exact I.
      assert (forall s others made, keeps_by j t y s others made (graph_after (changing j) made) = true -> kept_jointly t y others (graph_after (changing j) made)) as KS.
      { intros s others made Q. unfold keeps_by in Q. destruct (List.find _ s) as [e|]; [|discriminate]. exact (flips_keep_sound t y _ _ _ Hy Q). }
      pose proof (all_covered net classes E _ (changing j) PE t (kept_jointly t y) _ (fun _ _ _ _ => None) KS (kept_jointly_alike t y)
        (fun _ _ _ _ _ _ (Q : None = Some _) => match Q in _ = o return match o with Some _ => _ | None => True end with eq_refl => Logic.I end) y work left trees H R) as [_ T].
      intros C F A AF other Ho D. destruct (T C A other Ho D) as (others & O & K). exact (K F AF other O Ho D).
    - destruct (is_admissible_changes E C && _ && _ && _) eqn:H; [|exact I]. apply andb_prop in H as [H HP]. apply andb_prop in H as [H HD]. apply andb_prop in H as [HA HF].
      apply is_admissible_changes_spec in HA. apply is_admissible_spec in HF. apply negb_true_iff in HD. apply Z.eqb_neq in HD.
      pose proof (prepared_on_sound (graph_of E)) as S0. pose proof (prepared_on_sound (graph_after (changing j) C)) as S.
      assert (by_prediction = true -> zpredicted (on_graph net (graph_of E)) P0 classes entries t y) as PR
        by (intros ->; apply (is_predicted_spec _ P0 classes no_rivals entries _ S0); exact HP).
      destruct (logit_of (logits _ t F) y) as [a|] eqn:Ea; [|exact I]. destruct (logit_of (logits _ t F) other) as [b|] eqn:Eb; [|exact I].
      apply (logit_of_spec _ classes P0 no_rivals entries _ S) in Ea as [_ ->]. apply (logit_of_spec _ classes P0 no_rivals entries _ S) in Eb as [Ho ->].
      rewrite !(values_same _ (graph_after (changing j) C) (changed_graph E C) net) by (intros; apply (graph_after_spec net classes E _ _ PE)).
      destruct (Z.ltb_spec (value (changed_graph E C) F t y) (value (changed_graph E C) F t other)) as [Q|Q].
      + split; [|exact PR]. exists C, F, other. auto.
      + destruct (Z.eqb_spec (value (changed_graph E C) F t y) (value (changed_graph E C) F t other)) as [Q'|]; [|exact I].
        split; [|exact PR]. exists C, F, other. auto.
  Qed.
End Joint.

(* What the program says of integers that are those of floats, of a network on every graph, is true of the network of these floats. *)
Theorem verified_joint (s : Z) (bits z : list (ruled Z)) (E : edge_problem) (P : problem) (classes : Z) (j : joint_prepared)
    (by_prediction : bool) (t y : Z) (c : joint_claim) :
  (forall g, integers_of 0 s (on_graph bits g) (on_graph z g)) ->
  prepare_joint z classes E P = Some j ->
  let net g := rational (on_graph bits g) in
  match judge_joint j by_prediction t y c with
  | Said IsRobust => robust_on net E (by_flips P) classes t y
  | Said IsBroken => broken_on net E (by_flips P) classes t y /\ (by_prediction = true -> predicted (net (graph_of E)) (numbers (attributes P)) classes t y)
  | Said IsTied => tied_on net E (by_flips P) classes t y /\ (by_prediction = true -> predicted (net (graph_of E)) (numbers (attributes P)) classes t y)
  | _ => True
  end.
Proof.
  intros I HP net. pose proof (judge_joint_sound z classes E P j HP by_prediction t y c) as J. cbn zeta in J.
  assert (forall g, exists k, scaled 1 k (net g) (on_graph z g)) as SC.
  { intros g. destruct (integers_scaled 0 s _ _ (I g)) as (k & _ & S). exists k. exact S. }
  assert (forall g X m a b, zpre (on_graph z g) X m a < zpre (on_graph z g) X m b -> (preactivation (net g) (numbers X) m a < preactivation (net g) (numbers X) m b)%Q) as LESS.
  { intros g X m a b. destruct (SC g) as (k & S). apply (scaled_lt k (net g) _ _ m a b S). }
  assert (forall g X m a b, zpre (on_graph z g) X m a = zpre (on_graph z g) X m b -> (preactivation (net g) (numbers X) m a == preactivation (net g) (numbers X) m b)%Q) as EQUAL.
  { intros g X m a b. destruct (SC g) as (k & S). apply (scaled_eq k (net g) _ _ m a b S). }
  assert (zpredicted (on_graph z (graph_of E)) P classes entries t y -> predicted (net (graph_of E)) (numbers (attributes P)) classes t y) as PR.
  { destruct (SC (graph_of E)) as (k & S). exact (zpredicted_predicted k (net (graph_of E)) _ S P classes t y). }
  destruct (judge_joint j by_prediction t y c) as [[| |]| |]; try exact Logic.I.
  - intros C A X (F & AF & ->) other Ho D. apply LESS. apply J; assumption.
  - destruct J as [(C & F & other & A & AF & Ho & D & L) Q]. split; [|auto]. exists C. split; [exact A|]. exists (numbers (flipped (attributes P) F)), other.
    split; [exists F; auto|]. split; [exact Ho|]. split; [exact D|]. apply LESS. exact L.
  - destruct J as [(C & F & other & A & AF & Ho & D & L) Q]. split; [|auto]. exists C. split; [exact A|]. exists (numbers (flipped (attributes P) F)), other.
    split; [exists F; auto|]. split; [exact Ho|]. split; [exact D|]. apply EQUAL. exact L.
Qed.

Print Assumptions verified_joint.
