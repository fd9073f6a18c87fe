import java.util.List;

/** What the program states of values. */
final class Checks {
  private Checks() {}

  static void check(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException("not so: " + what);
    }
  }

  static void checkClose(List<Float> got, List<Float> want) {
    check(got.size() == want.size(), "as many components");
    for (int i = 0; i < got.size(); i++) {
      check(Math.abs(got.get(i) - want.get(i)) < 1e-5, "component " + i);
    }
  }
}
