(* orthros-oracle: reads requests on standard input, prints dependency sets on standard output. *)

open Oracle_core

let leaves (d : deps) =
  List.map (Printf.sprintf " b%d") d.on_base @ List.map (Printf.sprintf " o%d") d.on_output

let print_set name d = print_string (name ^ " :" ^ String.concat "" (leaves d) ^ "\n")

let print_memory layer kind index memory =
  let name what = Printf.sprintf "%s %d %d" what layer (index + 1) in
  match kind with
  | Windowed _ | Full -> print_set (name "cache") memory.depends
  | Linear taps ->
    print_set (name "state") memory.depends;
    if taps > 1 then print_set (name "conv") (conv_deps taps memory)

let answer (request : Request.t) =
  let caches, logits = oracle request.dual request.kinds request.chunks request.outputs in
  List.iteri
    (fun layer (kind, cache) -> List.iteri (print_memory layer kind) cache)
    (List.combine request.kinds caches);
  List.iter (fun (t, d) -> print_set (Printf.sprintf "logit %d" t) d) logits

let is_skipped line =
  let text = String.trim line in
  text = "" || text.[0] = '#'

(* Answers every line until the end of input; true when none was bad. Each answer ends with the line
   "end" and is flushed there, so that a client can ask again over the same pipe. *)
let rec serve all_good =
  match input_line stdin with
  | exception End_of_file -> all_good
  | line when is_skipped line -> serve all_good
  | line ->
    let good =
      match Request.parse line with
      | request ->
        answer request;
        true
      | exception Request.Bad message ->
        print_string ("error " ^ message ^ "\n");
        false
    in
    print_endline "end";
    serve (all_good && good)

let () = exit (if serve true then 0 else 2)
