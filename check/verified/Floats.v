(* Stored floats: what the 64 bits of a binary64 number stand for, and the integers that a network of floats becomes. *)
From Coq Require Import ZArith QArith Qpower List Bool Lia.
From Verified Require Import Spec Sums Rules Integers Checker Trees Sound.
Import ListNotations.
Open Scope Z_scope.

(* IEEE 754: a sign bit, 11 bits of exponent, 52 bits of fraction. An exponent field of 2047 is no number. *)
Definition fraction (bits : Z) : Z := bits mod 2 ^ 52.
Definition field (bits : Z) : Z := (bits / 2 ^ 52) mod 2 ^ 11.
Definition negative (bits : Z) : bool := Z.leb (2 ^ 63) bits.
Definition mantissa (bits : Z) : Z :=
  (if negative bits then -1 else 1) * (if Z.eqb (field bits) 0 then fraction bits else 2 ^ 52 + fraction bits).
Definition exponent (bits : Z) : Z := if Z.eqb (field bits) 0 then -1074 else field bits - 1075.
Definition is_number (bits : Z) : bool := Z.leb 0 bits && Z.ltb bits (2 ^ 64) && negb (Z.eqb (field bits) 2047).
Definition float_value (bits : Z) : Q := inject_Z (mantissa bits) * 2 ^ exponent bits.

(* 2^shift times the float, if that is an integer. *)
Definition to_integer (shift bits : Z) : option Z :=
  if is_number bits then
    let e := exponent bits + shift in
    if Z.leb 0 e then Some (mantissa bits * 2 ^ e)
    else let unit := 2 ^ (- e) in
      if Z.eqb (mantissa bits mod unit) 0 then Some (mantissa bits / unit) else None
  else None.

Lemma two_power a b : (2 ^ (a + b) == 2 ^ a * 2 ^ b)%Q.
Proof. apply Qpower_plus. discriminate. Qed.

Lemma inject_two_power e : 0 <= e -> (inject_Z (2 ^ e) == 2 ^ e)%Q.
Proof. intros H. change 2%Q with (inject_Z 2). rewrite Zpower_Qpower by assumption. reflexivity. Qed.

Lemma two_power_pos e : (0 < 2 ^ e)%Q.
Proof. apply Qpower_0_lt. reflexivity. Qed.

Theorem to_integer_spec shift bits z : to_integer shift bits = Some z -> (inject_Z z == 2 ^ shift * float_value bits)%Q.
Proof.
  unfold to_integer, float_value. destruct (is_number bits); [|discriminate]. set (m := mantissa bits). set (x := exponent bits).
  destruct (Z.leb_spec 0 (x + shift)) as [L|L].
  - intros [= <-]. rewrite inject_Z_mult, inject_two_power, two_power by assumption. ring.
  - destruct (Z.eqb_spec (m mod 2 ^ (- (x + shift))) 0) as [E|]; [|discriminate]. intros [= <-].
    assert (2 ^ (- (x + shift)) <> 0) as N by (apply Z.pow_nonzero; lia).
    pose proof (Z_div_mod_eq_full m (2 ^ (- (x + shift)))) as D. rewrite E, Z.add_0_r in D. set (q := m / 2 ^ (- (x + shift))) in *.
    rewrite D, inject_Z_mult, inject_two_power by lia.
    setoid_replace (2 ^ shift * (2 ^ (- (x + shift)) * inject_Z q * 2 ^ x))%Q with (inject_Z q * (2 ^ (- (x + shift)) * (2 ^ x * 2 ^ shift)))%Q by ring.
    rewrite <- two_power, <- two_power. replace (- (x + shift) + (x + shift)) with 0 by lia. cbn. ring.
Qed.

(* A network of floats, in their bits; the rational network that it stands for. *)
Definition rational_term (t : term Z) : term Q :=
  {| operator := fun m => map (fun e => (fst e, float_value (snd e))) (operator t m); weight := fun i j => float_value (weight t i j) |}.
Definition rational_layer (l : layer Z) : layer Q :=
  {| terms := map rational_term (terms l); inputs := inputs l; bias := fun m j => float_value (bias l m j); relu := relu l |}.
Definition rational (net : network Z) : network Q := map rational_layer net.

(* The integers of a network of floats: entries of operators times 2^a, weights times 2^w, and so on. This is what a reader has to do. *)
Definition integer_term (a w : Z) (bits z : term Z) : Prop :=
  (forall m, Forall2 (fun e f => fst e = fst f /\ to_integer a (snd e) = Some (snd f)) (operator bits m) (operator z m)) /\
  (forall i j, to_integer w (weight bits i j) = Some (weight z i j)).

Inductive integers_of (base : Z) : Z -> network Z -> network Z -> Prop :=
| no_layers : integers_of base base [] []
| one_layer s a w bits bs z zs :
    integers_of base s bs zs -> Forall2 (integer_term a w) (terms bits) (terms z) -> inputs bits = inputs z ->
    (forall j, relu bits j = relu z j) -> (forall m j, to_integer (s + a + w) (bias bits m j) = Some (bias z m j)) ->
    integers_of base (s + a + w) (bits :: bs) (z :: zs).

Theorem integers_scaled base s bits z : integers_of base s bits z -> exists c, (c == 2 ^ s)%Q /\ scaled (2 ^ base) c (rational bits) z.
Proof.
  induction 1 as [|s a w bits bs z zs H (c & E & IH) T I R B].
  - exists (2 ^ base)%Q. split; [reflexivity|constructor].
  - exists (c * 2 ^ a * 2 ^ w)%Q. split; [rewrite E, !two_power; reflexivity|]. cbn [rational map]. apply scaled_layer; auto using two_power_pos.
    + cbn [rational_layer terms]. induction T as [|t t' ts ts' [To Tw] T IHT]; cbn [map]; constructor; auto. split.
      * intros m. cbn [rational_term operator]. specialize (To m). induction To as [|e f es fs [E1 E2] To IHe]; cbn [map]; constructor; auto.
        split; [exact E1|]. cbn [snd]. apply to_integer_spec. assumption.
      * intros i j. cbn [rational_term weight]. apply to_integer_spec. apply Tw.
    + intros m j. cbn [rational_layer bias]. specialize (B m j). apply to_integer_spec in B. rewrite B, !two_power, E. ring.
Qed.

(* The last word: what the program says of integers that are those of a network of floats is true of that network. *)
Theorem verified (s : Z) (bits z : network Z) (P : problem) (classes : Z) (p : prepared)
    (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
  integers_of 0 s bits z ->
  prepare z classes P no_rivals = Some p ->
  all_lines p no_bounds lines = Some whole ->
  match judge p P whole by_prediction t y c with
  | Some IsRobust => robust (rational bits) (by_flips P) classes t y
  | Some IsBroken => broken (rational bits) (by_flips P) classes t y /\ (by_prediction = true -> predicted (rational bits) (numbers (attributes P)) classes t y)
  | Some IsTied => tied (rational bits) (by_flips P) classes t y /\ (by_prediction = true -> predicted (rational bits) (numbers (attributes P)) classes t y)
  | None => True
  end.
Proof.
  intros I HP HL. destruct (integers_scaled 0 s bits z I) as (k & _ & S).
  exact (check_sound k (rational bits) z S P classes p lines whole by_prediction t y c HP HL).
Qed.

Print Assumptions verified.
