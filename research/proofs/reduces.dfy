// Reduces that are kept slots: nobody behind a job delays it.
//
// Go: isReserved of package rtmr: a reduce starts only while more slots are idle than the unready jobs ahead have reduces.
// Theorem: (i) and (ii) of "Proof of the guarantee" in docs/theory/rtmr.md. Steps (iii) and (iv), and maps, are in fill.dfy.
//
// Jobs are in the order of the chain. None comes in ahead of another one here: from then on the jobs behind it have a new promise.

// left is how many reduces are still to start, ready says that the maps have ended, and begun that a reduce has started.
datatype Job = Job(left: nat, ready: bool, begun: bool)

datatype State = State(jobs: seq<Job>, idle: nat)

// Ahead returns how many reduces the jobs ahead of job j have to start.
function Ahead(jobs: seq<Job>, j: nat): nat
  requires j <= |jobs|
{ if j == 0 then 0 else Ahead(jobs, j - 1) + jobs[j-1].left }

// Unready is the same of those that are not ready.
function Unready(jobs: seq<Job>, j: nat): nat
  requires j <= |jobs|
{ if j == 0 then 0 else Unready(jobs, j - 1) + (if jobs[j-1].ready then 0 else jobs[j-1].left) }

// Turn says that job j is the first of the ready ones that have reduces to start.
predicate Turn(jobs: seq<Job>, j: nat) {
  j < |jobs| && jobs[j].ready && jobs[j].left > 0 && forall i :: 0 <= i < j && jobs[i].ready ==> jobs[i].left == 0
}

// Room is what the rule keeps: what the jobs ahead of one that has begun have to start finds a slot.
predicate Room(s: State) { forall j :: 0 <= j < |s.jobs| && s.jobs[j].begun ==> s.idle >= Ahead(s.jobs, j) }

// What may happen: a reduce starts, a slot becomes idle, the maps of a job end, a job comes behind all others.
datatype Step = Start(j: nat) | Freed | Ready(j: nat) | Comes(job: Job)

predicate May(s: State, st: Step) {
  match st
    case Start(j) => Turn(s.jobs, j) && s.idle > 0
    case Freed => true
    case Ready(j) => j < |s.jobs|
    case Comes(job) => !job.begun
}

function After(s: State, st: Step): State
  requires May(s, st)
{
  match st
    case Start(j) => State(s.jobs[j := Job(s.jobs[j].left - 1, true, true)], s.idle - 1)
    case Freed => State(s.jobs, s.idle + 1)
    case Ready(j) => State(s.jobs[j := Job(s.jobs[j].left, true, s.jobs[j].begun)], s.idle)
    case Comes(job) => State(s.jobs + [job], s.idle)
}

lemma AheadAfterStart(jobs: seq<Job>, i: nat, j: nat)
  requires i < |jobs| && j <= |jobs| && jobs[i].left > 0
  ensures Ahead(jobs[i := Job(jobs[i].left - 1, true, true)], j) == Ahead(jobs, j) - (if i < j then 1 else 0)
{
  var t := jobs[i := Job(jobs[i].left - 1, true, true)];
  if j > 0 { AheadAfterStart(jobs, i, j - 1); assert t[j-1].left == jobs[j-1].left - (if i == j - 1 then 1 else 0); }
}

lemma AheadAfterReady(jobs: seq<Job>, i: nat, j: nat)
  requires i < |jobs| && j <= |jobs|
  ensures Ahead(jobs[i := Job(jobs[i].left, true, jobs[i].begun)], j) == Ahead(jobs, j)
{
  var t := jobs[i := Job(jobs[i].left, true, jobs[i].begun)];
  if j > 0 { AheadAfterReady(jobs, i, j - 1); assert t[j-1].left == jobs[j-1].left; }
}

lemma AheadOfOthers(jobs: seq<Job>, job: Job, j: nat)
  requires j <= |jobs|
  ensures Ahead(jobs + [job], j) == Ahead(jobs, j)
{ if j > 0 { AheadOfOthers(jobs, job, j - 1); } }

lemma AheadGrows(jobs: seq<Job>, i: nat, j: nat)
  requires i <= j <= |jobs|
  ensures Ahead(jobs, i) <= Ahead(jobs, j)
{ if i < j { AheadGrows(jobs, i, j - 1); } }

// At the turn of a job, the jobs ahead that have something to start are the unready ones.
lemma UnreadyIsAhead(jobs: seq<Job>, j: nat)
  requires j <= |jobs|
  requires forall i :: 0 <= i < j && jobs[i].ready ==> jobs[i].left == 0 // needed
  ensures Unready(jobs, j) == Ahead(jobs, j)
{ if j > 0 { UnreadyIsAhead(jobs, j - 1); } }

// The rule keeps room, whatever happens.
lemma StepKeeps(s: State, st: Step)
  requires Room(s) // needed
  requires May(s, st)
  requires st.Start? ==> s.idle > Unready(s.jobs, st.j) // needed
  ensures Room(After(s, st))
{
  var t := After(s, st);
  forall j | 0 <= j < |t.jobs| && t.jobs[j].begun ensures t.idle >= Ahead(t.jobs, j) {
    match st {
      case Start(i) =>
        AheadAfterStart(s.jobs, i, j);
        UnreadyIsAhead(s.jobs, i);
        if j <= i { AheadGrows(s.jobs, j, i); }
      case Freed =>
      case Ready(i) => AheadAfterReady(s.jobs, i, j);
      case Comes(job) => if j < |s.jobs| { AheadOfOthers(s.jobs, job, j); }
    }
  }
}

// (i) Once a job behind it has begun, all reduces of a job find a slot as soon as it is ready and its turn has come.
lemma NobodyDelaysIt(s: State, i: nat, j: nat)
  requires Room(s) // needed
  requires i < j < |s.jobs|
  requires s.jobs[j].begun // needed
  requires Turn(s.jobs, i) // needed
  ensures s.idle >= Unready(s.jobs, i) + s.jobs[i].left
{
  UnreadyIsAhead(s.jobs, i);
  AheadGrows(s.jobs, i + 1, j);
}

// (ii) If a job is delayed, no job behind it has begun.
lemma DelayedIsAheadOfAll(s: State, i: nat)
  requires Room(s) // needed
  requires Turn(s.jobs, i) // needed
  requires s.idle <= Unready(s.jobs, i) // needed
  ensures forall j :: i < j < |s.jobs| ==> !s.jobs[j].begun
{
  UnreadyIsAhead(s.jobs, i);
  forall j | i < j < |s.jobs| ensures !s.jobs[j].begun { AheadGrows(s.jobs, i + 1, j); }
}

// Sum returns how many reduces of the first j jobs run.
function Sum(running: seq<nat>, j: nat): nat
  requires j <= |running|
{ if j == 0 then 0 else Sum(running, j - 1) + running[j-1] }

lemma SumOfNone(running: seq<nat>, i: nat, j: nat)
  requires i <= j <= |running|
  requires forall k :: i <= k < j ==> running[k] == 0
  ensures Sum(running, j) == Sum(running, i)
{ if i < j { SumOfNone(running, i, j - 1); } }

// What (iv) in fill.dfy takes from here: while a job is delayed, each slot runs a reduce of it or of a job ahead, or is kept for one that is unready.
lemma SlotsAreOfThoseAhead(s: State, running: seq<nat>, i: nat)
  requires Room(s)
  requires |running| == |s.jobs|
  requires forall j :: 0 <= j < |running| && running[j] > 0 ==> s.jobs[j].begun // needed
  requires Turn(s.jobs, i)
  requires s.idle <= Unready(s.jobs, i) // needed
  ensures s.idle + Sum(running, |running|) <= Unready(s.jobs, i) + Sum(running, i + 1)
{
  DelayedIsAheadOfAll(s, i);
  SumOfNone(running, i + 1, |running|);
}
