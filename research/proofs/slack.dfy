// The slack of jobs against fluid fair sharing stays at 0 or above under the protective choice.
//
// Go: System of package kit/slack: Advance, Serve, Arrive; the choice is LeastCompletable. Package pfsp rests on it.
// Theorem: "Protectiveness" in docs/theory/slack.md, with (6) to (9), and Arrive of the table of its rules.
//
// Jobs are in the order in which they complete in the virtual cluster V. Job i has the weight phi[i], completes when virtual time
// has gone on by u[i], and has w[i] of real work left. So its virtual work v_i is phi[i] u[i]. All numbers are whole: units of
// virtual time can be as small as one likes.

datatype V = V(phi: seq<int>, u: seq<int>, w: seq<int>)

predicate Valid(s: V) {
  |s.phi| == |s.u| == |s.w| &&
  (forall i :: 0 <= i < |s.phi| ==> s.phi[i] > 0 && s.u[i] >= 0 && s.w[i] >= 0) &&
  (forall i, j :: 0 <= i < j < |s.u| ==> s.u[i] <= s.u[j])
}

function Sum(s: seq<int>): int { if |s| == 0 then 0 else Sum(s[..|s|-1]) + s[|s|-1] }

// Rest returns the weight of the jobs from i on.
function Rest(phi: seq<int>, i: nat): int
  requires i <= |phi|
  decreases |phi| - i
{ if i == |phi| then 0 else phi[i] + Rest(phi, i + 1) }

lemma RestPositive(phi: seq<int>, i: nat)
  requires i <= |phi| && forall k :: 0 <= k < |phi| ==> phi[k] > 0
  ensures Rest(phi, i) >= 0
  decreases |phi| - i
{ if i < |phi| { RestPositive(phi, i + 1); } }

// H returns the work that V does until i completes: v_1 + ... + v_(i-1) + (phi_i + ... + phi_m) v_i/phi_i.
function H(s: V, i: nat): int
  requires Valid(s) && i < |s.u|
{ Before(s, i) + Rest(s.phi, i) * s.u[i] }

function Before(s: V, i: nat): int
  requires Valid(s) && i <= |s.u|
{ if i == 0 then 0 else Before(s, i - 1) + s.phi[i-1] * s.u[i-1] }

// Slack is (6).
function Slack(s: V, i: nat): int
  requires Valid(s) && i < |s.u|
{ H(s, i) - Sum(s.w[..i+1]) }

// The difference of two neighbours.
lemma Neighbours(s: V, i: nat)
  requires Valid(s) && 0 < i < |s.u|
  ensures Slack(s, i) == Slack(s, i - 1) + Rest(s.phi, i) * (s.u[i] - s.u[i-1]) - s.w[i]
{
  assert s.w[..i+1][..i] == s.w[..i];
  assert Sum(s.w[..i+1]) == Sum(s.w[..i]) + s.w[i];
  var r := Rest(s.phi, i);
  assert Rest(s.phi, i - 1) == s.phi[i-1] + r;
  Spread(s.u[i-1], s.phi[i-1], r);
  Spread(r, s.u[i], s.u[i-1]);
}

lemma FirstSlack(s: V)
  requires Valid(s) && |s.u| > 0
  ensures Slack(s, 0) == Rest(s.phi, 0) * s.u[0] - s.w[0]
{
  var one := s.w[..0+1];
  assert one == [s.w[0]] && one[..0] == [];
  assert Sum(one) == Sum(one[..0]) + one[0];
}

lemma Spread(a: int, b: int, c: int)
  ensures a * (b + c) == a * b + a * c && a * (b - c) == a * b - a * c && (b + c) * a == b * a + c * a
{ }

lemma NotNegative(a: int, b: int)
  requires a >= 0 && b >= 0
  ensures a * b >= 0
{ }

function Less(s: seq<int>, d: int): seq<int>
  ensures |Less(s, d)| == |s| && forall i :: 0 <= i < |s| ==> Less(s, d)[i] == s[i] - d
{ if |s| == 0 then [] else Less(s[..|s|-1], d) + [s[|s|-1] - d] }

// Advanced is V after virtual time has gone on by d, in which V does the work C dt = Rest(phi, 0) d.
function Advanced(s: V, d: int): V { V(s.phi, Less(s.u, d), s.w) }

// (8): time takes C dt of the slack of each.
lemma AdvanceTakes(s: V, d: int, i: nat)
  requires Valid(s) && i < |s.u| && 0 <= d <= s.u[0] && Valid(Advanced(s, d))
  ensures Slack(Advanced(s, d), i) == Slack(s, i) - Rest(s.phi, 0) * d
{
  var t := Advanced(s, d);
  if i == 0 {
    FirstSlack(s); FirstSlack(t);
    assert Rest(s.phi, 0) * (s.u[0] - d) == Rest(s.phi, 0) * s.u[0] - Rest(s.phi, 0) * d;
  } else {
    AdvanceTakes(s, d, i - 1);
    Neighbours(s, i); Neighbours(t, i);
    assert t.u[i] - t.u[i-1] == s.u[i] - s.u[i-1];
  }
}

lemma AdvanceIsValid(s: V, d: int)
  requires Valid(s) && |s.u| > 0 && 0 <= d <= s.u[0]
  ensures Valid(Advanced(s, d))
{ }

// Served is V after so much of the work of job k was done.
function Served(s: V, k: nat, x: int): V
  requires k < |s.w|
{ V(s.phi, s.u, s.w[k := s.w[k] - x]) }

// (7), (9): work that is done gives slack to the job and to all behind it.
lemma ServeGives(s: V, k: nat, x: int, i: nat)
  requires Valid(s) && k < |s.w| && i < |s.w| && x <= s.w[k]
  ensures Valid(Served(s, k, x)) && Slack(Served(s, k, x), i) == Slack(s, i) + (if i >= k then x else 0)
{
  var t := Served(s, k, x);
  if i == 0 { FirstSlack(s); FirstSlack(t); } else {
    ServeGives(s, k, x, i - 1);
    Neighbours(s, i); Neighbours(t, i);
  }
}

predicate Protected(s: V) { Valid(s) && forall i :: 0 <= i < |s.u| ==> Slack(s, i) >= 0 }

// A job is completable if each unfinished job before it has at least as much slack as it has work.
predicate Completable(s: V, k: nat) {
  Valid(s) && k < |s.w| && forall j :: 0 <= j < k && s.w[j] > 0 ==> Slack(s, j) >= s.w[k]
}

// ServedSlack says what the slack is after a time in which job k was served by all slots, if it is as much as that of each unfinished
// job before it.
lemma ServedSlack(s: V, k: nat, d: int, i: nat)
  requires Protected(s) && k < |s.w| && i < |s.w|
  requires Completable(s, k) // needed
  requires 0 <= d <= s.u[0]
  requires Rest(s.phi, 0) * d <= s.w[k] // needed
  ensures Valid(Served(Advanced(s, d), k, Rest(s.phi, 0) * d))
  ensures Slack(Served(Advanced(s, d), k, Rest(s.phi, 0) * d), i) >= 0
{
  var x := Rest(s.phi, 0) * d;
  AdvanceIsValid(s, d);
  var t := Served(Advanced(s, d), k, x);
  AdvanceTakes(s, d, i);
  ServeGives(Advanced(s, d), k, x, i);
  if i < k && s.w[i] == 0 {
    // A finished job has no less slack than the job before it.
    RestPositive(t.phi, i);
    if i == 0 {
      FirstSlack(t);
      NotNegative(Rest(t.phi, 0), t.u[0]);
    } else {
      ServedSlack(s, k, d, i - 1);
      Neighbours(t, i);
      NotNegative(Rest(t.phi, i), t.u[i] - t.u[i-1]);
    }
  }
}

// (b) A completable job is served for a time by all the slots, and nobody becomes late.
lemma ServiceProtects(s: V, k: nat, d: int)
  requires Protected(s) && k < |s.w| && Completable(s, k)
  requires 0 <= d <= s.u[0] && Rest(s.phi, 0) * d <= s.w[k]
  ensures Protected(Served(Advanced(s, d), k, Rest(s.phi, 0) * d))
{
  ServedSlack(s, k, d, 0);
  forall i | 0 <= i < |s.w| ensures Slack(Served(Advanced(s, d), k, Rest(s.phi, 0) * d), i) >= 0 { ServedSlack(s, k, d, i); }
}

// Arrived is V after a job has come at place p.
function Arrived(s: V, p: nat, phi: int, u: int): V
  requires Valid(s) && p <= |s.u|
{ V(s.phi[..p] + [phi] + s.phi[p..], s.u[..p] + [u] + s.u[p..], s.w[..p] + [phi * u] + s.w[p..]) }

lemma RestArrived(s: V, p: nat, phi: int, u: int, i: nat)
  requires Valid(s) && p <= |s.u| && i <= |s.u|
  ensures i < p ==> Rest(Arrived(s, p, phi, u).phi, i) == Rest(s.phi, i) + phi
  ensures i >= p ==> Rest(Arrived(s, p, phi, u).phi, i + 1) == Rest(s.phi, i)
  ensures i == p ==> Rest(Arrived(s, p, phi, u).phi, p) == Rest(s.phi, p) + phi
  decreases |s.u| - i
{
  var t := Arrived(s, p, phi, u);
  if i < |s.u| {
    RestArrived(s, p, phi, u, i + 1);
    if i < p { assert t.phi[i] == s.phi[i]; } else { assert t.phi[i+1] == s.phi[i]; }
  }
}

predicate Fits(s: V, p: nat, phi: int, u: int) {
  Valid(s) && p <= |s.u| && phi > 0 && u >= 0 && (p > 0 ==> s.u[p-1] <= u) && (p < |s.u| ==> u <= s.u[p])
}

lemma ArrivalIsValid(s: V, p: nat, phi: int, u: int)
  requires Fits(s, p, phi, u)
  ensures Valid(Arrived(s, p, phi, u))
{ NotNegative(phi, u); }

// Those before a job that arrives gain phi v_j/phi_j.
lemma ArrivalBefore(s: V, p: nat, phi: int, u: int, i: nat)
  requires Fits(s, p, phi, u) && Valid(Arrived(s, p, phi, u)) && i < p
  ensures Slack(Arrived(s, p, phi, u), i) == Slack(s, i) + phi * s.u[i]
{
  var t := Arrived(s, p, phi, u);
  RestArrived(s, p, phi, u, i);
  if i == 0 {
    FirstSlack(s); FirstSlack(t);
    Spread(s.u[0], Rest(s.phi, 0), phi);
  } else {
    ArrivalBefore(s, p, phi, u, i - 1);
    Neighbours(s, i); Neighbours(t, i);
    Spread(s.u[i] - s.u[i-1], Rest(s.phi, i), phi);
    Spread(phi, s.u[i], s.u[i-1]);
  }
}

// Its own slack is that of the job before it, and what all behind that do until it completes.
lemma ArrivalItself(s: V, p: nat, phi: int, u: int)
  requires Fits(s, p, phi, u) && Valid(Arrived(s, p, phi, u))
  ensures p == 0 ==> Slack(Arrived(s, p, phi, u), 0) == Rest(s.phi, 0) * u
  ensures p > 0 ==> Slack(Arrived(s, p, phi, u), p) == Slack(s, p - 1) + Rest(s.phi, p) * (u - s.u[p-1])
{
  var t := Arrived(s, p, phi, u);
  RestArrived(s, p, phi, u, p);
  assert t.w[p] == phi * u && t.u[p] == u;
  var r := Rest(s.phi, p);
  if p == 0 {
    FirstSlack(t);
    Spread(u, r, phi);
  } else {
    ArrivalBefore(s, p, phi, u, p - 1);
    Neighbours(t, p);
    assert t.u[p-1] == s.u[p-1];
    var e := u - s.u[p-1];
    assert Slack(t, p) == Slack(s, p - 1) + phi * s.u[p-1] + (r + phi) * e - phi * u;
    Spread(e, r, phi);
    Spread(phi, u, s.u[p-1]);
  }
}

// Those behind it keep theirs.
lemma ArrivalBehind(s: V, p: nat, phi: int, u: int, i: nat)
  requires Fits(s, p, phi, u) && Valid(Arrived(s, p, phi, u)) && p <= i < |s.u|
  ensures Slack(Arrived(s, p, phi, u), i + 1) == Slack(s, i)
  decreases i
{
  var t := Arrived(s, p, phi, u);
  RestArrived(s, p, phi, u, i);
  Neighbours(t, i + 1);
  assert t.u[i+1] == s.u[i] && t.w[i+1] == s.w[i];
  var r := Rest(s.phi, i);
  if i > p {
    assert t.u[i] == s.u[i-1];
    ArrivalBehind(s, p, phi, u, i - 1);
    Neighbours(s, i);
  } else {
    assert t.u[p] == u;
    ArrivalItself(s, p, phi, u);
    Spread(r, s.u[p], u);
    if p == 0 { FirstSlack(s); } else {
      Neighbours(s, p);
      Spread(r, u, s.u[p-1]);
      Spread(r, s.u[p], s.u[p-1]);
    }
  }
}

// (a) A job arrives, of the size phi u, and nobody becomes late.
lemma ArrivalProtects(s: V, p: nat, phi: int, u: int)
  requires Fits(s, p, phi, u) && Valid(Arrived(s, p, phi, u))
  requires Protected(s) // needed
  ensures Protected(Arrived(s, p, phi, u))
{
  var t := Arrived(s, p, phi, u);
  forall i | 0 <= i < |t.u| ensures Slack(t, i) >= 0 {
    if i < p { ArrivalBefore(s, p, phi, u, i); NotNegative(phi, s.u[i]); }
    else if i > p { ArrivalBehind(s, p, phi, u, i - 1); }
    else {
      ArrivalItself(s, p, phi, u);
      RestPositive(s.phi, p);
      if p == 0 { NotNegative(Rest(s.phi, 0), u); } else { NotNegative(Rest(s.phi, p), u - s.u[p-1]); }
    }
  }
}

// (c) A job that completes in V has no real work left, and to take it out of V changes nothing for the others. So no job ends later
// than under processor sharing.
lemma CompletionIsInTime(s: V)
  requires |s.u| > 0 && Valid(s)
  requires Protected(s) // needed
  requires s.u[0] == 0
  ensures s.w[0] == 0
  ensures Protected(V(s.phi[1..], s.u[1..], s.w[1..]))
{
  FirstSlack(s);
  var t := V(s.phi[1..], s.u[1..], s.w[1..]);
  var i := 0;
  while i < |t.u|
    invariant i <= |t.u|
    invariant forall j :: 0 <= j < i ==> Slack(t, j) == Slack(s, j + 1)
  {
    RestWithout(s.phi, i + 1);
    Neighbours(s, i + 1);
    if i == 0 { FirstSlack(t); } else { Neighbours(t, i); }
    i := i + 1;
  }
}

lemma RestWithout(phi: seq<int>, i: nat)
  requires 0 < i <= |phi|
  ensures Rest(phi[1..], i - 1) == Rest(phi, i)
  decreases |phi| - i
{ if i < |phi| { RestWithout(phi, i + 1); } }
