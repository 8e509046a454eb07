(* What the bits of a float stand for here is what Flocq's formalisation of IEEE 754 says. About real numbers, so it rests on
   the axioms of Coq's reals; nothing else rests on it. *)
From Coq Require Import ZArith QArith Qpower Qreals Reals Bool Lia.
From Flocq Require Import Core IEEE754.BinarySingleNaN IEEE754.Binary IEEE754.Bits.
From Verified Require Import Floats.
Open Scope Z_scope.

Lemma real_power e : Q2R (2 ^ e) = bpow radix2 e.
Proof.
  assert (forall p, Q2R (Qpower_positive 2 p) = IZR (Z.pow_pos 2 p)) as K.
  { intros p. change (Z.pow_pos 2 p) with (2 ^ Z.pos p). replace (Q2R (Qpower_positive 2 p)) with (Q2R (inject_Z (2 ^ Z.pos p))).
    - unfold Q2R, inject_Z. cbn [Qnum Qden]. rewrite Rinv_1. ring.
    - apply Qeq_eqR. rewrite Zpower_Qpower by lia. reflexivity. }
  destruct e as [|p|p]; cbn [Qpower bpow].
  - unfold Q2R. cbn. field.
  - apply K.
  - rewrite Q2R_inv, K; [reflexivity|]. intros E. apply (Qpower_not_0_positive 2 p); [discriminate|exact E].
Qed.

Theorem float_value_is_ieee bits : is_number bits = true -> Q2R (float_value bits) = B2R 53 1024 (b64_of_bits bits).
Proof.
  intros N. unfold is_number in N. apply andb_prop in N as [_ N]. apply negb_true_iff in N. apply Z.eqb_neq in N.
  unfold b64_of_bits, binary_float_of_bits. rewrite B2R_FF2B. unfold binary_float_of_bits_aux, split_bits.
  change (2 ^ 52 * 2 ^ 11) with (2 ^ 63). fold (negative bits). unfold float_value. rewrite Q2R_mult, real_power.
  assert (forall z, Q2R (inject_Z z) = IZR z) as I by (intros z; unfold Q2R, inject_Z; cbn [Qnum Qden]; rewrite Rinv_1; ring). rewrite I.
  unfold mantissa, exponent.
  change ((bits / 2 ^ 52) mod 2 ^ 11) with (field bits). change (bits mod 2 ^ 52) with (fraction bits).
  assert (0 <= fraction bits < 2 ^ 52) as R by (apply Z.mod_pos_bound; reflexivity).
  change (Zle_bool (2 ^ 63) bits) with (negative bits).
  case Zeq_bool_spec; intros E.
  - rewrite E, Z.eqb_refl. destruct (fraction bits) as [|m|m] eqn:Em; [|..]; [|..|lia].
    + cbn [FF2R]. rewrite Z.mul_0_r. apply Rmult_0_l.
    + cbn [FF2R]. unfold F2R. cbn [Fnum Fexp]. f_equal. f_equal. destruct (negative bits); reflexivity.
  - destruct (Z.eqb_spec (field bits) 0); [contradiction|]. case Zeq_bool_spec; intros E2; [contradiction|].
    destruct (fraction bits + 2 ^ 52) as [|m|m] eqn:Em; [lia| |lia].
    cbn [FF2R]. unfold F2R. cbn [Fnum Fexp]. f_equal; [f_equal|f_equal].
    + rewrite (Z.add_comm (2 ^ 52)), Em. destruct (negative bits); reflexivity.
    + unfold SpecFloat.emin. lia.
Qed.

Print Assumptions float_value_is_ieee.
