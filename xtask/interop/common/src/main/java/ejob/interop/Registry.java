package ejob.interop;

/** Where the registry is: the first line that a worker reads. */
public final class Registry {

    public String addresses;

    public String namespace;

    public int sessionMs;

    /** The port that dumps are asked for at; negative is none. */
    public int dumpPort = -1;
}
