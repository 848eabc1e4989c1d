(* mma-vectors FILE: runs the extracted tensor-core step on every case of hopper_mma_bf16.bin,
   results measured on an H200, and counts those that differ. Exit 0 when none does.

   The file: int32 n, then A (n x 16 x 16 bf16), B (n x 8 x 16 bf16, column then k), C and D
   (n x 16 x 8 fp32), little-endian. *)

open Mma_core

let rec positive n =
  if n = 1 then XH else if n land 1 = 1 then XI (positive (n lsr 1)) else XO (positive (n lsr 1))

let integer n = if n = 0 then Z0 else if n > 0 then Zpos (positive n) else Zneg (positive (-n))

(* Sign, exponent and significand of the bits of a finite number; a subnormal has the smallest
   exponent and no leading one. *)
let decode bits ~width ~fraction =
  let sign = if bits lsr (width - 1) = 1 then -1 else 1 in
  let exponent = (bits lsr fraction) land 255 and low = bits land ((1 lsl fraction) - 1) in
  if exponent = 0 then (sign * low, -126) else (sign * (low lor (1 lsl fraction)), exponent - 127)

let () =
  if Array.length Sys.argv <> 2 then (
    prerr_endline "usage: mma-vectors FILE";
    exit 2);
  let file = Sys.argv.(1) in
  let channel = open_in_bin file in
  let bytes = really_input_string channel (in_channel_length channel) in
  let n = Int32.to_int (String.get_int32_le bytes 0) in
  let a = 4 in
  let b = a + (n * 16 * 16 * 2) in
  let c = b + (n * 8 * 16 * 2) in
  let d = c + (n * 16 * 8 * 4) in
  if d + (n * 16 * 8 * 4) <> String.length bytes then (
    Printf.eprintf "%s: size: expected %d cases, got %d bytes\n" file n (String.length bytes);
    exit 2);
  let bf16 base index =
    decode (String.get_uint16_le bytes (base + (2 * index))) ~width:16 ~fraction:7
  in
  let fp32 base index =
    let bits = Int32.to_int (String.get_int32_le bytes (base + (4 * index))) land 0xffffffff in
    let significand, exponent = decode bits ~width:32 ~fraction:23 in
    { significand = integer significand; exponent = integer exponent }
  in
  let differs case =
    let block = case / 128 and row = case / 8 mod 16 and column = case mod 8 in
    let product k =
      let x, ex = bf16 a ((((block * 16) + row) * 16) + k) in
      let y, ey = bf16 b ((((block * 8) + column) * 16) + k) in
      { product_significand = integer (x * y); product_exponent = integer (ex + ey) }
    in
    mma (fp32 c case) (List.init 16 product) <> fp32 d case
  in
  let bad = List.length (List.filter differs (List.init (n * 128) Fun.id)) in
  Printf.printf "%d of %d measured results differ\n" bad (n * 128);
  exit (if bad = 0 then 0 else 1)
