package ejob.interop;

/** Address of the registry: the first line that a worker reads. */
public final class Registry {

    public String addresses;

    public String namespace;

    public int sessionMs;

    /** The port for dumps; negative is none. */
    public int dumpPort = -1;
}
