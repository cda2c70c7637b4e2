// FILL, and the bounds of RTMR's admission.
//
// Go: Filler.Fill and its definition in the comment of package kit/slotvec. The bookings of package rtmr.
// Theorem: the part "Maps" of the proof in docs/theory/rtmr.md; Proof-1 and Proof-2 of the paper's appendix, with their
// hypothesis that reduces run in the order of the chain; and (iii) and (iv) of that proof, which do without it.
//
// A vector is a sequence of the instants at which slots become available, in any order. One is no later than another if by each
// instant it has as many slots available: that is the paper's >= of sorted vectors.

function Max(a: int, b: int): int { if a < b then b else a }

// By returns how many slots are available by x.
function By(s: seq<int>, x: int): nat {
  if |s| == 0 then 0 else (if s[0] <= x then 1 else 0) + By(s[1..], x)
}

predicate NoLater(a: seq<int>, b: seq<int>) { |a| == |b| && forall x :: By(a, x) >= By(b, x) }

predicate Least(s: seq<int>, k: nat) { k < |s| && forall i :: 0 <= i < |s| ==> s[k] <= s[i] }

// First returns a slot that is available first.
function First(s: seq<int>): nat
  requires |s| > 0
  ensures Least(s, First(s))
{
  if |s| == 1 then 0 else var k := First(s[1..]);
    assert forall i :: 0 < i < |s| ==> s[i] == s[1..][i-1];
    if s[0] <= s[k+1] then 0 else k+1
}

lemma ByUpdate(s: seq<int>, k: nat, v: int, x: int)
  requires k < |s|
  ensures By(s[k := v], x) == By(s, x) - (if s[k] <= x then 1 else 0) + (if v <= x then 1 else 0)
{
  if k == 0 { assert s[0 := v][1..] == s[1..]; } else {
    ByUpdate(s[1..], k-1, v, x);
    assert s[k := v][1..] == s[1..][k-1 := v];
  }
}

lemma ByNone(s: seq<int>, x: int)
  requires forall i :: 0 <= i < |s| ==> s[i] > x
  ensures By(s, x) == 0
{ if |s| > 0 { ByNone(s[1..], x); } }

lemma BySome(s: seq<int>, k: nat, x: int)
  requires k < |s| && s[k] <= x
  ensures By(s, x) >= 1
{ if k > 0 { BySome(s[1..], k-1, x); } }

lemma LeastNoLater(a: seq<int>, i: nat, b: seq<int>, j: nat)
  requires NoLater(a, b) && Least(a, i) && Least(b, j)
  ensures a[i] <= b[j]
{
  BySome(b, j, b[j]);
  if a[i] > b[j] { ByNone(a, b[j]); }
}

// Booked is the vector after one task of length e was booked that may not start before r, on slot k.
function Booked(s: seq<int>, k: nat, r: int, e: int): seq<int>
  requires k < |s|
{ s[k := Max(s[k], r) + e] }

// Property 2 of the paper's operators, for one task.
lemma BookedNoLater(a: seq<int>, i: nat, r: int, e: int, b: seq<int>, j: nat, q: int, f: int)
  requires NoLater(a, b) && Least(a, i) && Least(b, j)
  requires r <= q
  requires e <= f // needed
  requires 0 <= f // needed
  ensures NoLater(Booked(a, i, r, e), Booked(b, j, q, f))
{
  var a' := Booked(a, i, r, e);
  var b' := Booked(b, j, q, f);
  LeastNoLater(a, i, b, j);
  forall x ensures By(a', x) >= By(b', x) {
    ByUpdate(a, i, Max(a[i], r) + e, x);
    ByUpdate(b, j, Max(b[j], q) + f, x);
    assert By(a, x) >= By(b, x);
    if x < b[j] { ByNone(b, x); } else { BySome(b, j, x); }
  }
}

// Fill books tasks of the times t, one after the other, each on the slot that is available first. FILL is that of equal times.
function Fill(s: seq<int>, t: seq<int>, r: int): seq<int>
  requires |s| > 0
  ensures |Fill(s, t, r)| == |s|
  decreases |t|
{ if |t| == 0 then s else Fill(Booked(s, First(s), r, t[0]), t[1..], r) }

// End returns when the last of them ends, and r if there is none.
function End(s: seq<int>, t: seq<int>, r: int): int
  requires |s| > 0
  decreases |t|
{ if |t| == 0 then r else Max(Max(s[First(s)], r) + t[0], End(Booked(s, First(s), r, t[0]), t[1..], r)) }

predicate Within(t: seq<int>, u: seq<int>) { |t| == |u| && forall i :: 0 <= i < |t| ==> t[i] <= u[i] && 0 <= u[i] }

// Properties 2 and 3: to start earlier, with shorter tasks, on slots that are available earlier, makes nothing later.
lemma FillNoLater(a: seq<int>, t: seq<int>, r: int, b: seq<int>, u: seq<int>, q: int)
  requires NoLater(a, b) // needed
  requires |a| > 0 && |a| == |b|
  requires Within(t, u) && r <= q
  ensures NoLater(Fill(a, t, r), Fill(b, u, q))
  ensures End(a, t, r) <= End(b, u, q)
  decreases |t|
{
  if |t| > 0 {
    LeastNoLater(a, First(a), b, First(b));
    BookedNoLater(a, First(a), r, t[0], b, First(b), q, u[0]);
    FillNoLater(Booked(a, First(a), r, t[0]), t[1..], r, Booked(b, First(b), q, u[0]), u[1..], q);
  }
}

// A job arrives at an instant, with maps and reduces that take these times: bounds where it is booked, the times that they took where it ran.
datatype Job = Job(arrival: int, maps: seq<int>, reduces: seq<int>)

predicate Bounds(ran: seq<Job>, booked: seq<Job>) {
  |ran| == |booked| && forall i :: 0 <= i < |ran| ==>
    ran[i].arrival == booked[i].arrival && Within(ran[i].maps, booked[i].maps) && Within(ran[i].reduces, booked[i].reduces)
}

// MapSlots returns when map slots become available behind jobs in their order: T^m, or V^m.
function MapSlots(m: seq<int>, jobs: seq<Job>): seq<int>
  requires |m| > 0
  ensures |MapSlots(m, jobs)| == |m|
{ if |jobs| == 0 then m else var k := |jobs| - 1; Fill(MapSlots(m, jobs[..k]), jobs[k].maps, jobs[k].arrival) }

// MapEnd returns when the maps of the last job end: e^m. It is not the largest instant of the vector, as the paper says: a job
// before may hold a slot for longer.
function MapEnd(m: seq<int>, jobs: seq<Job>): int
  requires |m| > 0 && |jobs| > 0
{ var k := |jobs| - 1; End(MapSlots(m, jobs[..k]), jobs[k].maps, jobs[k].arrival) }

// ReduceSlots returns when reduce slots become available behind jobs whose reduces run in the order of the jobs: T^r, or V^r.
function ReduceSlots(m: seq<int>, r: seq<int>, jobs: seq<Job>): seq<int>
  requires |m| > 0 && |r| > 0
  ensures |ReduceSlots(m, r, jobs)| == |r|
{ if |jobs| == 0 then r else var k := |jobs| - 1; Fill(ReduceSlots(m, r, jobs[..k]), jobs[k].reduces, MapEnd(m, jobs)) }

// JobEnd returns when the last job ends: e.
function JobEnd(m: seq<int>, r: seq<int>, jobs: seq<Job>): int
  requires |m| > 0 && |r| > 0 && |jobs| > 0
{ var k := |jobs| - 1; End(ReduceSlots(m, r, jobs[..k]), jobs[k].reduces, MapEnd(m, jobs)) }

// Proof-1: map slots are really available no later than booked, and maps have ended by e^m.
lemma Proof1(m: seq<int>, ran: seq<Job>, booked: seq<Job>)
  requires |m| > 0 && Bounds(ran, booked)
  ensures NoLater(MapSlots(m, ran), MapSlots(m, booked))
  ensures |ran| > 0 ==> MapEnd(m, ran) <= MapEnd(m, booked)
{
  if |ran| > 0 {
    var k := |ran| - 1;
    Proof1(m, ran[..k], booked[..k]);
    FillNoLater(MapSlots(m, ran[..k]), ran[k].maps, ran[k].arrival, MapSlots(m, booked[..k]), booked[k].maps, booked[k].arrival);
  }
}

// Proof-2: the same of reduce slots and of whole jobs.
lemma Proof2(m: seq<int>, r: seq<int>, ran: seq<Job>, booked: seq<Job>)
  requires |m| > 0 && |r| > 0 && |ran| == |booked|
  requires Bounds(ran, booked) // needed
  ensures NoLater(ReduceSlots(m, r, ran), ReduceSlots(m, r, booked))
  ensures |ran| > 0 ==> JobEnd(m, r, ran) <= JobEnd(m, r, booked)
{
  if |ran| > 0 {
    var k := |ran| - 1;
    Proof1(m, ran, booked);
    Proof2(m, r, ran[..k], booked[..k]);
    FillNoLater(ReduceSlots(m, r, ran[..k]), ran[k].reduces, MapEnd(m, ran), ReduceSlots(m, r, booked[..k]), booked[k].reduces, MapEnd(m, booked));
  }
}

// So an accepted job is in time.
lemma Accepted(m: seq<int>, r: seq<int>, ran: seq<Job>, booked: seq<Job>, deadline: int)
  requires |m| > 0 && |r| > 0 && |ran| > 0 && Bounds(ran, booked)
  requires JobEnd(m, r, booked) <= deadline // needed
  ensures JobEnd(m, r, ran) <= deadline
{ Proof2(m, r, ran, booked); }

// From here on: steps (iii) and (iv) of docs/theory/rtmr.md, for tasks that start in any order. A task is booked to be ready by an instant, and
// to take so long. Those of all jobs are booked in the order of the chain.
datatype Task = Task(ready: int, takes: nat)

// Slots returns when slots become available behind tasks.
function Slots(s: seq<int>, tasks: seq<Task>): seq<int>
  requires |s| > 0
  ensures |Slots(s, tasks)| == |s|
{ if |tasks| == 0 then s else var k := |tasks| - 1; var v := Slots(s, tasks[..k]); Booked(v, First(v), tasks[k].ready, tasks[k].takes) }

// StartOf returns the start that FILL gives to a task.
function StartOf(s: seq<int>, tasks: seq<Task>, i: nat): int
  requires |s| > 0 && i < |tasks|
{ var v := Slots(s, tasks[..i]); Max(v[First(v)], tasks[i].ready) }

// Unfinished returns how many of the first n tasks are booked to end after x.
function Unfinished(s: seq<int>, tasks: seq<Task>, n: nat, x: int): nat
  requires |s| > 0 && n <= |tasks|
{ if n == 0 then 0 else Unfinished(s, tasks, n - 1, x) + (if StartOf(s, tasks, n - 1) + tasks[n-1].takes > x then 1 else 0) }

// (iii) If some slot is available by x, there are as many unfinished tasks as slots that are not, besides those that were not at the beginning.
lemma OneEach(s: seq<int>, tasks: seq<Task>, n: nat, x: int)
  requires |s| > 0 && n <= |tasks|
  requires By(Slots(s, tasks[..n]), x) > 0 // needed
  ensures By(Slots(s, tasks[..n]), x) + Unfinished(s, tasks, n, x) == By(s, x)
{
  if n > 0 {
    var k := n - 1;
    assert tasks[..n][..k] == tasks[..k] && tasks[..n][k] == tasks[k];
    var v := Slots(s, tasks[..k]);
    var f := First(v);
    ByUpdate(v, f, Max(v[f], tasks[k].ready) + tasks[k].takes, x);
    if v[f] > x { ByNone(v, x); } else { BySome(v, f, x); OneEach(s, tasks, k, x); }
  }
}

// A task really starts, and really takes so long.
datatype Run = Run(start: int, took: nat)

// Left returns how many of the first n tasks have not really ended by x: they run, or a slot is kept for them.
function Left(runs: seq<Run>, n: nat, x: int): nat
  requires n <= |runs|
{ if n == 0 then 0 else Left(runs, n - 1, x) + (if runs[n-1].start + runs[n-1].took > x then 1 else 0) }

lemma LeftIsUnfinished(s: seq<int>, tasks: seq<Task>, runs: seq<Run>, n: nat, x: int)
  requires |s| > 0 && |runs| == |tasks| && n <= |tasks|
  requires forall i :: 0 <= i < n ==> runs[i].start <= StartOf(s, tasks, i) // needed
  requires forall i :: 0 <= i < n ==> runs[i].took <= tasks[i].takes // needed
  ensures Left(runs, n, x) <= Unfinished(s, tasks, n, x)
{ if n > 0 { LeftIsUnfinished(s, tasks, runs, n - 1, x); } }

// Served is what (i) and (ii) give: while a task waits that is booked to be ready, no slot that came is idle or has a task behind it. Each has
// one before it, or is kept for one: SlotsAreOfThoseAhead in reduces.dfy.
predicate Served(really: seq<int>, tasks: seq<Task>, runs: seq<Run>) {
  |runs| == |tasks| && forall i, x :: 0 <= i < |tasks| && tasks[i].ready <= x < runs[i].start ==> By(really, x) <= Left(runs, i, x)
}

// (iv) Each task starts by the start that FILL gives to it, and ends as booked.
lemma AsBooked(booked: seq<int>, really: seq<int>, tasks: seq<Task>, runs: seq<Run>, n: nat)
  requires |booked| > 0 && |runs| == |tasks| && n <= |tasks|
  requires NoLater(really, booked) // needed
  requires forall i :: 0 <= i < |tasks| ==> runs[i].took <= tasks[i].takes // needed
  requires Served(really, tasks, runs) // needed
  ensures forall i :: 0 <= i < n ==> runs[i].start <= StartOf(booked, tasks, i)
  ensures forall i :: 0 <= i < n ==> runs[i].start + runs[i].took <= StartOf(booked, tasks, i) + tasks[i].takes
{
  if n > 0 {
    var i := n - 1;
    AsBooked(booked, really, tasks, runs, i);
    var x := StartOf(booked, tasks, i);
    var v := Slots(booked, tasks[..i]);
    BySome(v, First(v), x);
    OneEach(booked, tasks, i, x);
    LeftIsUnfinished(booked, tasks, runs, i, x);
    assert By(really, x) >= By(booked, x);
    assert Left(runs, i, x) < By(really, x);
    assert runs[i].start <= x;
  }
}
