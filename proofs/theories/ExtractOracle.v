(* The oracle as an OCaml program. Positions become OCaml's 63-bit integers. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt.
From Orthros Require Import DepSets Oracle.

Extraction "oracle_core.ml" oracle conv_deps.
